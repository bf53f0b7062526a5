import en from './catalogues/en.json' with { type: 'json' };
import fa from './catalogues/fa.json' with { type: 'json' };

type CatalogueKey = keyof typeof en;
type PluralKey<Key> = Key extends `${infer Text}_other` ? Text : never;
type FormKey = `${PluralKey<CatalogueKey>}_${Intl.LDMLPluralRule}`;

/** A plural is one message, without the `_one` and `_other` of its forms: its parameter `count` selects the form. */
export type MessageKey = Exclude<CatalogueKey, FormKey> | PluralKey<CatalogueKey>;

/**
 * How the translator writes a parameter, by its name in the texts. Callers pass values and format nothing.
 *
 * - `number`: in the digits of the language, grouped; used for amounts of money, too.
 * - `id`: the id of a record, in Latin digits in every language.
 * - `instant`: a timestamp of the API, `YYYY-MM-DD HH:MM:SS` in UTC. It is written in words, in the calendar and the time zone
 *   of the language.
 * - `day`: `YYYY-MM-DD`, written in words and in the calendar of the language.
 * - `verbatim`: unchanged. Used for names, texts that people have written, and values to copy, such as codes, ids, phones,
 *   IBANs and addresses.
 */
export const PARAMETERS = {
  added: 'number',
  amount: 'number',
  app: 'verbatim',
  balance: 'number',
  client: 'verbatim',
  count: 'number',
  /** The date part of `language.instant`. */
  date: 'verbatim',
  deletion_scheduled_at: 'instant',
  developer: 'verbatim',
  earliest: 'day',
  entered: 'verbatim',
  event: 'verbatim',
  expires_at: 'instant',
  filename: 'verbatim',
  gym_name: 'verbatim',
  host: 'verbatim',
  id: 'id',
  last: 'number',
  length: 'number',
  max: 'number',
  min: 'number',
  name: 'verbatim',
  names: 'verbatim',
  note: 'verbatim',
  page: 'number',
  product: 'verbatim',
  reason: 'verbatim',
  removed: 'number',
  role: 'verbatim',
  roles: 'verbatim',
  seconds: 'number',
  service: 'verbatim',
  time: 'verbatim',
  settled_at: 'instant',
  step: 'number',
  title: 'verbatim',
  username: 'verbatim',
  values: 'verbatim',
} as const;

type Parameters = typeof PARAMETERS;
export type MessageParams = {
  [Name in keyof Parameters]?: Parameters[Name] extends 'number' | 'id' ? number : string;
};
/** Every English text. A language may have more plural forms, such as `_few`. */
export type Catalogue = Record<CatalogueKey, string> & Partial<Record<FormKey, string>>;

/** Whether there is a text with this key. A plural is not found. */
export const isMessageKey = (key: string): key is MessageKey => Object.hasOwn(en, key);

/** The type check names texts that a language lacks, and texts that English does not have. */
const complete = <Texts extends Catalogue>(
  texts: Texts & Record<Exclude<keyof Texts, keyof Catalogue>, never>,
): Catalogue => texts;

/** Each language by its tag. */
export const CATALOGUES: ReadonlyMap<string, Catalogue> = new Map([
  ['en', en],
  ['fa', complete(fa)],
]);
