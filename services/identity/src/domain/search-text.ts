/** The texts by which an account is found (`@fitness/shared/kernel/text-search.ts`). */
import {
  documentGrams,
  foldedSpellings,
  queryGrams,
  textMatcher,
} from '@fitness/shared/kernel/text-search.ts';
import { localPhone, normalizePhone } from './phone.ts';
import type { User } from './user.ts';

export type SearchedFields = Pick<User, 'username' | 'email' | 'phone' | 'first_name' | 'last_name'>;

const nameTexts = (user: SearchedFields): string[] => [user.username, `${user.first_name} ${user.last_name}`];

/** With e-mail and phone. */
export const contactTexts = (user: SearchedFields): string[] => {
  const local = localPhone(user.phone);
  return [...nameTexts(user), user.email, user.phone, ...(local === undefined ? [] : [local])];
};

/** Grams of names are stored twice: what a search by names reads must not depend on e-mail or phone. No gram is so long. */
const nameGram = (gram: string): string => `name ${gram}`;

export const searchGrams = (user: SearchedFields): string[] => [
  ...documentGrams(contactTexts(user)),
  ...documentGrams(nameTexts(user)).map(nameGram),
];

export interface UserSearch {
  /** A match has all of these grams. */
  grams: readonly string[];
  match(user: SearchedFields): { isMatch: boolean; characters: number };
}

/** `wanted`: a match contains one of them in one of its texts. */
const searchFor = (
  wanted: readonly string[],
  grams: readonly string[],
  textsOf: (user: SearchedFields) => string[],
): UserSearch => {
  const matchers = wanted.map(textMatcher);
  return {
    grams,
    match: (user) => {
      let [isMatch, characters] = [false, 0];
      for (const text of textsOf(user)) {
        const spellings = foldedSpellings(text);
        for (const match of matchers) {
          const found = match(text, spellings);
          isMatch ||= found.isMatch;
          characters += found.characters;
        }
      }
      return { isMatch, characters };
    },
  };
};

/** Undefined when the folded query is empty. */
export const nameSearch = (search: string): UserSearch | undefined => {
  const grams = queryGrams(search);
  return grams.length === 0 ? undefined : searchFor([search], grams.map(nameGram), nameTexts);
};

/**
 * The same as {@link nameSearch}, but e-mail and phone are searched as well: a complete phone is found in every spelling by which its
 * owner can sign in. What contains it as it is typed is still found.
 */
export const contactSearch = (search: string): UserSearch | undefined => {
  const grams = queryGrams(search);
  if (grams.length === 0) return undefined;
  const phone = normalizePhone(search.trim());
  if (phone === undefined) return searchFor([search], grams, contactTexts);
  const shared = queryGrams(phone).filter((gram) => grams.includes(gram));
  return shared.length === 0
    ? searchFor([phone], queryGrams(phone), contactTexts)
    : searchFor([search, phone], shared, contactTexts);
};
