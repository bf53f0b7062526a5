/** A changed index has another name: two releases run beside each other, and a name means the same in both (docs/adr/0014). */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { indexName } from '@fitness/shared/mongo/indexes.ts';
import { expect, test } from '@jest/globals';
import { loadSchemas } from './schemas.ts';
import { read, root } from './support.ts';

/** What each name has meant since release 1.1. Lines are added, and never changed or removed. */
const RECORD = 'test/architecture/indexes.json';
/** That mongoose adds, or that say nothing of the index. */
const WITHOUT = new Set(['background', 'name']);

const definedIndexes = async (): Promise<Record<string, string>> => {
  const indexes: Record<string, string> = {};
  for (const { owner, schema } of await loadSchemas()) {
    const collection: unknown = schema.get('collection');
    if (typeof collection !== 'string') continue;
    for (const [fields, options] of schema.indexes()) {
      const own = Object.entries(options).filter(([name]) => !WITHOUT.has(name));
      const definition = JSON.stringify({ fields, ...Object.fromEntries(own.toSorted()) });
      indexes[`${owner}: ${collection}.${indexName(fields, options.name)}`] = definition;
    }
  }
  return indexes;
};

test('each index is recorded under its name, and no definition has changed under the same name', async () => {
  const recorded = JSON.parse(read(RECORD)) as Record<string, string>;
  const defined = await definedIndexes();
  expect(Object.keys(defined).length).toBeGreaterThan(80);
  const changed = Object.keys(defined).filter((name) => defined[name] !== (recorded[name] ?? defined[name]));
  // Give a changed index another name by its option `name`; a step of a later release removes the former one.
  expect(changed).toEqual([]);
  const all = { ...defined, ...recorded };
  const sorted = Object.fromEntries(Object.entries(all).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const text = `${JSON.stringify(sorted, null, 2)}\n`;
  if (process.env.UPDATE_DOCS === '1') writeFileSync(join(root, RECORD), text);
  // New ones: npm run generate
  expect(read(RECORD)).toBe(text);
});
