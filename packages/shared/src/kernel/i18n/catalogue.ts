import type { catalogue } from './catalogues/en.ts';

type CatalogueKey = keyof typeof catalogue;
type PluralKey<Key> = Key extends `${infer Text}_other` ? Text : never;
type FormKey = `${PluralKey<CatalogueKey>}_${Intl.LDMLPluralRule}`;

/** A plural is one message, without the `_one` and `_other` of its forms: its parameter `count` selects the form. */
export type MessageKey = Exclude<CatalogueKey, FormKey> | PluralKey<CatalogueKey>;
export type MessageParams = Record<string, string | number>;
/** Every text of English. A language may have more forms of a plural, such as `_few`. */
export type Catalogue = Record<CatalogueKey, string> & Partial<Record<FormKey, string>>;
