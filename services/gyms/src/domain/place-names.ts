/**
 * The names of the states, cities and majors in each language of the product (`LOCALES`), from `place-names/<locale>.ts`. The type
 * of every language comes from `en`, so a missing name fails the type check.
 */
import { LOCALES, type Locale } from '@fitness/shared/kernel/i18n/translate.ts';
import type { names } from './place-names/en.ts';

type English = typeof names;
export type PlaceNames = { [Kind in keyof English]: Record<keyof English[Kind], string> };

const readNames = async (locale: Locale): Promise<PlaceNames> => {
  const module: { names: PlaceNames } = await import(
    new URL(`./place-names/${locale}.ts`, import.meta.url).href
  );
  return module.names;
};

export const PLACE_NAMES: ReadonlyMap<Locale, PlaceNames> = new Map(
  await Promise.all(LOCALES.map(async (locale) => [locale, await readNames(locale)] as const)),
);
