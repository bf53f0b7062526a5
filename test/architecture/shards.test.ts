/**
 * Each collection has a shard key or a reason to stay on one shard. Service tests compare each recorded command with the keys
 * (`services/<name>/test/shards.ts`). docs/shard-keys.md is generated from the keys.
 */

import { expectByRecipe } from '@fitness/shared/testing/recipe.ts';
import type { Sharded, Shards } from '@fitness/shared/testing/shards.ts';
import { beforeAll, expect, test } from '@jest/globals';
import { loadShards, RUNTIME, shardedOf } from './generated/shard-keys.ts';
import { type Collection, loadCollections } from './schemas.ts';
import { files, read, SERVICES } from './support.ts';

let collections: Collection[] = [];
let shards: ReadonlyMap<string, Shards>;
let sharded: [string, string, Sharded][] = [];

beforeAll(async () => {
  collections = await loadCollections();
  shards = await loadShards();
  sharded = shardedOf(shards);
});

test('each collection has a shard entry, and no entry names an unknown collection', () => {
  const entries = [...shards].flatMap(([owner, own]) => Object.keys(own).map((name) => `${owner}/${name}`));
  expectByRecipe(
    'stored-field',
    entries.sort(),
    collections.map(({ owner, name }) => `${owner}/${name}`).sort(),
  );
});

test('every shard key is a stored field', () => {
  const unknown = sharded.filter(([owner, name, { key }]) => {
    const schema = collections.find((one) => one.owner === owner && one.name === name)?.schema;
    return schema === undefined ? key.join() !== '_id' : key.some((field) => !schema.path(field));
  });
  expect(unknown).toEqual([]);
});

test('an entry explains unique ids exactly where a cluster does not ensure them', () => {
  const wrong = sharded.filter(([, , { key, ids }]) => (key.join() === '_id') !== (ids === undefined));
  expect(wrong).toEqual([]);
});

/** Unique indexes that do not begin with their collection's shard key. */
const preventing = ([owner, name, { key }]: [string, string, Sharded]): string[] =>
  Object.entries(JSON.parse(read('test/architecture/indexes.json')) as Record<string, string>).flatMap(
    ([index, definition]) => {
      const prefix = `${owner}: ${name}.`;
      const { fields, unique } = JSON.parse(definition) as { fields: object; unique?: true };
      const isPrefix = Object.keys(fields).slice(0, key.length).join() === key.join();
      return index.startsWith(prefix) && unique === true && !isPrefix ? [index.slice(prefix.length)] : [];
    },
  );

test('an entry names a replacement for exactly the unique indexes without the shard key', () => {
  const claimed = sharded.map(([owner, name, { claims = {} }]) => [owner, name, Object.keys(claims).sort()]);
  const needed = sharded.map((entry) => [entry[0], entry[1], preventing(entry).sort()]);
  expectByRecipe('database-index', claimed, needed);
  expect(needed.flatMap(([, , names]) => names)).not.toEqual([]);
});

test('each service compares its requests with the keys, and declares no scatter without a command', () => {
  const using = (what: RegExp) =>
    [...shards.keys()].filter((owner) => {
      const folder = owner === RUNTIME ? 'packages/shared/test/' : `services/${owner}/test/`;
      return files.some((file) => file.startsWith(folder) && what.test(read(file)));
    });
  expect(using(/openCostMeter\([^)]*SHARDS/)).toEqual(SERVICES);
  expect(using(/unusedScatters\(\)\)\.toEqual\(\[\]\)/)).toEqual([...shards.keys()]);
});
