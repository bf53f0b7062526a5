/**
 * Public texts. Each file in `catalogues/` is a language; they are read at start. The type of every catalogue comes from
 * `en`, so that a missing message fails the type check. i18next does interpolation and plurals: the number `count` selects
 * the form of a plural.
 */
import { readdirSync } from 'node:fs';
import i18next from 'i18next';
import type { Message } from '../error.ts';
import type { Catalogue, MessageKey, MessageParams } from './catalogue.ts';

/** A language tag of {@link LOCALES}, e.g. `en`. */
export type Locale = string;

const FOLDER = new URL('./catalogues/', import.meta.url);
export const LOCALES: readonly Locale[] = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.replace(/\.ts$/, ''))
  .sort();
export const DEFAULT_LOCALE: Locale = 'en';
export const isLocale = (value: string): boolean => LOCALES.includes(value);

const readCatalogue = async (locale: Locale): Promise<Catalogue> => {
  const module: { catalogue: Catalogue } = await import(new URL(`${locale}.ts`, FOLDER).href);
  return module.catalogue;
};
export const CATALOGUES: ReadonlyMap<Locale, Catalogue> = new Map(
  await Promise.all(LOCALES.map(async (locale) => [locale, await readCatalogue(locale)] as const)),
);

const instance = i18next.createInstance();
void instance.init({
  lng: DEFAULT_LOCALE,
  fallbackLng: DEFAULT_LOCALE,
  keySeparator: false,
  nsSeparator: false,
  initAsync: false,
  showSupportNotice: false,
  // Responses are JSON; clients escape for HTML.
  interpolation: { escapeValue: false, prefix: '{', suffix: '}' },
  resources: Object.fromEntries([...CATALOGUES].map(([locale, texts]) => [locale, { translation: texts }])),
} as Parameters<typeof instance.init>[0]);

const NUMBERS: ReadonlyMap<Locale, Intl.NumberFormat> = new Map(
  LOCALES.map((locale) => [locale, new Intl.NumberFormat(locale)]),
);

/**
 * The text of `key` in `locale`; the catalogue marks parameters as `{name}`. A number gets the digits and separators of the
 * language, so an id is passed as a string.
 */
export const translate = (locale: Locale, key: MessageKey, params: MessageParams = {}): string => {
  const replace = Object.fromEntries(
    Object.entries(params).map(([name, value]) => [
      name,
      typeof value === 'number' ? NUMBERS.get(locale)?.format(value) : value,
    ]),
  );
  const { count } = params;
  return instance.t(key, { lng: locale, replace, ...(typeof count === 'number' ? { count } : {}) });
};

export type Translate = (text: Message) => string;

/** {@link translate} for one language. */
export const translator =
  (locale: Locale): Translate =>
  (text) =>
    translate(locale, text.key, text.params);
