import { indexName } from '@fitness/shared/mongo/indexes.ts';
import { loadSchemas } from '../schemas.ts';
import { read } from '../support.ts';

/** What each name has meant since release 1.1. Lines may be added, but never changed or removed. */
const RECORD = 'test/architecture/indexes.json';
/** Options that mongoose adds or that do not define the index. */
const WITHOUT = new Set(['background', 'name']);

export const recordedIndexes = (): Record<string, string> => JSON.parse(read(RECORD));

export const definedIndexes = async (): Promise<Record<string, string>> => {
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

/** The definitions of all indexes by name. */
export const generate = async (): Promise<Record<string, string>> => {
  const all = { ...(await definedIndexes()), ...recordedIndexes() };
  const sorted = Object.fromEntries(Object.entries(all).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return { [RECORD]: `${JSON.stringify(sorted, null, 2)}\n` };
};
