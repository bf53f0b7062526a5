import type { catalogue } from './catalogues/en.ts';

export type MessageKey = keyof typeof catalogue;
export type MessageParams = Record<string, string | number>;
export type Catalogue = Record<MessageKey, string>;
