/** A changed index needs a new name: two releases run side by side, and a name must mean the same in both (docs/adr/0014). */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { indexName } from '@fitness/shared/mongo/indexes.ts';
import { expect, test } from '@jest/globals';
import { loadSchemas } from './schemas.ts';
import { read, root } from './support.ts';

/** What each name has meant since release 1.1. Lines may be added, but never changed or removed. */
const RECORD = 'test/architecture/indexes.json';
/** Options that mongoose adds or that do not define the index. */
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

test('each index is recorded by name, and no recorded definition has changed', async () => {
  const recorded = JSON.parse(read(RECORD)) as Record<string, string>;
  const defined = await definedIndexes();
  expect(Object.keys(defined).length).toBeGreaterThan(80);
  const changed = Object.keys(defined).filter((name) => defined[name] !== (recorded[name] ?? defined[name]));
  // Give a changed index another name with its option `name`. A step of a later release removes the old one.
  expect(changed).toEqual([]);
  const all = { ...defined, ...recorded };
  const sorted = Object.fromEntries(Object.entries(all).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const text = `${JSON.stringify(sorted, null, 2)}\n`;
  if (process.env.UPDATE_DOCS === '1') writeFileSync(join(root, RECORD), text);
  // For new indexes, run npm run generate.
  expect(read(RECORD)).toBe(text);
});
