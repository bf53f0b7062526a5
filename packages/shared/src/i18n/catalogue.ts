import type { en } from './catalogues/en.ts';

export type MessageKey = keyof typeof en;
export type MessageParams = Record<string, string | number>;
export type Catalogue = Record<MessageKey, string>;
