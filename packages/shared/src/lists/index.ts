/** The lists of one collection. */
import type { Collection } from 'mongoose';
import { type CacheOptions, createCache } from './cache.ts';
import { createDatabaseSource, type ListCollections } from './database.ts';
import { createRarestGram } from './grams.ts';
import type { Lists } from './list.ts';
import { createReader, type ListRows } from './reader.ts';

/** Of all lists of a process together. */
export const LIST_CACHE_MIB = 64;

const MIB = 2 ** 20;

interface ListOptions extends Omit<ListCollections, 'rows'>, ListRows, Pick<CacheOptions, 'changesSince'> {
  /** 0: every list is read from the database. */
  cacheMib: number;
}

export const createLists = (rows: Collection, options: ListOptions): Lists => {
  const database = createDatabaseSource({ rows, ...options });
  const source =
    options.cacheMib === 0 ? database : createCache(database, { ...options, bytes: options.cacheMib * MIB });
  return createReader(source, createRarestGram(options.grams), options);
};
