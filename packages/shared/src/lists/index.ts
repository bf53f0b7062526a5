/** The lists of one collection. */
import type { Collection } from 'mongoose';
import { createCache } from './cache.ts';
import type { CacheOptions } from './cache-state.ts';
import { createDatabaseSource, type ListCollections } from './database.ts';
import { createRarestGram } from './grams.ts';
import type { Lists } from './list.ts';
import type { ListMemory } from './memory.ts';
import { createReader } from './reader.ts';

export interface ListCache extends Pick<CacheOptions, 'changesSince'> {
  memory: ListMemory;
}

interface ListOptions extends Omit<ListCollections, 'rows'> {
  /** The fields that a search reads. */
  texts: readonly string[];
  /** Undefined: all lists are read from the database. */
  cache?: ListCache | undefined;
}

export const createLists = (rows: Collection, options: ListOptions): Lists => {
  const { texts, cache } = options;
  const database = createDatabaseSource({ rows, ...options });
  const source =
    cache === undefined
      ? database
      : createCache(database, { ...cache, memory: cache.memory(rows.collectionName, texts) });
  return createReader(source, createRarestGram(options.grams));
};
