/** The names of the states, cities and majors in each language of the product (`LOCALES`). */
import type { Locale } from '@fitness/shared/kernel/i18n/translate.ts';
import en from './place-names/en.json' with { type: 'json' };
import fa from './place-names/fa.json' with { type: 'json' };

type English = typeof en;
/** Names by id. The type check reports an id that a language lacks. */
export type PlaceNames = { [Kind in keyof English]: Record<keyof English[Kind], string> };

export const PLACE_NAMES: ReadonlyMap<Locale, PlaceNames> = new Map<Locale, PlaceNames>([
  ['en', en],
  ['fa', fa],
]);
