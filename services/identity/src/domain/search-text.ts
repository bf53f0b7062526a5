/** The texts by which an account is found (`@fitness/shared/kernel/text-search.ts`). */
import { machineText } from '@fitness/shared/kernel/refinements.ts';
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

/** The texts of {@link nameTexts}, with email and phone. */
export const contactTexts = (user: SearchedFields): string[] => {
  const local = localPhone(user.phone);
  return [...nameTexts(user), user.email, user.phone, ...(local === undefined ? [] : [local])];
};

/**
 * Grams of names are stored twice, because what a search by name reads must not depend on email or phone. Other grams are
 * too short to equal one with this prefix.
 */
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

/** A match contains one of `terms` in one of its texts. */
const searchFor = (
  terms: readonly string[],
  grams: readonly string[],
  textsOf: (user: SearchedFields) => string[],
): UserSearch => {
  const matchers = terms.map(textMatcher);
  return {
    grams,
    match: (user) => {
      let [isMatch, characters] = [false, 0];
      for (const text of textsOf(user)) {
        const spellings = foldedSpellings(text);
        for (const match of matchers) {
          const result = match(text, spellings);
          isMatch ||= result.isMatch;
          characters += result.characters;
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
 * Like {@link nameSearch}, but includes email and phone. A complete phone is found in every spelling that its owner
 * can sign in with. Texts that contain the search as it is typed are found too.
 */
export const contactSearch = (search: string): UserSearch | undefined => {
  const grams = queryGrams(search);
  if (grams.length === 0) return undefined;
  const phone = normalizePhone(machineText(search));
  if (phone === undefined) return searchFor([search], grams, contactTexts);
  const shared = queryGrams(phone).filter((gram) => grams.includes(gram));
  return shared.length === 0
    ? searchFor([phone], queryGrams(phone), contactTexts)
    : searchFor([search, phone], shared, contactTexts);
};
