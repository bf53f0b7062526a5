/**
 * Public texts. A language is one catalogue file; its type comes from `en`, so that a missing message fails the type
 * check. Interpolation and plurals are i18next's.
 */
import i18next from 'i18next';
import type { Message } from '../error.ts';
import type { Catalogue, MessageKey, MessageParams } from './catalogue.ts';
import { en } from './catalogues/en.ts';
import { fa } from './catalogues/fa.ts';

const catalogues = { en, fa } satisfies Record<string, Catalogue>;

export type Locale = keyof typeof catalogues;
export const LOCALES = Object.keys(catalogues) as Locale[];
export const DEFAULT_LOCALE: Locale = 'en';
export const isLocale = (value: string): value is Locale => Object.hasOwn(catalogues, value);

const instance = i18next.createInstance();
void instance.init({
  lng: DEFAULT_LOCALE,
  fallbackLng: DEFAULT_LOCALE,
  keySeparator: false,
  nsSeparator: false,
  initAsync: false,
  showSupportNotice: false,
  // Answers are JSON; escaping for HTML is the reader's business.
  interpolation: { escapeValue: false, prefix: '{', suffix: '}' },
  resources: Object.fromEntries(
    Object.entries(catalogues).map(([locale, texts]) => [locale, { translation: texts }]),
  ),
} as Parameters<typeof instance.init>[0]);

/** The text of `key` in `locale`; parameters stand in the catalogue as `{name}`. */
export const translate = (locale: Locale, key: MessageKey, params: MessageParams = {}): string =>
  instance.t(key, { lng: locale, ...params });

export type Translate = (text: Message) => string;

/** {@link translate} bound to one language. */
export const translator =
  (locale: Locale): Translate =>
  (text) =>
    translate(locale, text.key, text.params);
