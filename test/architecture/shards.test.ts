/**
 * Each collection has a shard key or a reason to stay on one shard, and docs/scaling.md lists them. Service tests compare each
 * recorded command with the keys (`services/<name>/test/shards.ts`).
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  isSharded,
  RUNTIME_SHARDS,
  type Sharded,
  type Shards,
  SINGLE,
  type Unsharded,
} from '@fitness/shared/testing/shards.ts';
import { beforeAll, expect, test } from '@jest/globals';
import { type Collection, loadCollections } from './schemas.ts';
import { files, markdownTable, read, root, SERVICES } from './support.ts';

const DOCUMENT = 'docs/scaling.md';
const RUNTIME = 'every service';
const OWNERS = [RUNTIME, ...SERVICES];

let collections: Collection[] = [];
const shardsOf: Record<string, Shards> = { [RUNTIME]: RUNTIME_SHARDS };
/** Owner, collection name and entry of each sharded collection. */
let sharded: [string, string, Sharded][] = [];

beforeAll(async () => {
  collections = await loadCollections();
  for (const service of SERVICES) {
    const { SHARDS } = await import(pathToFileURL(join(root, `services/${service}/test/shards.ts`)).href);
    shardsOf[service] = SHARDS;
  }
  sharded = OWNERS.flatMap((owner) =>
    Object.entries(shardsOf[owner] ?? {}).flatMap(([name, entry]): [string, string, Sharded][] =>
      isSharded(entry) ? [[owner, name, entry]] : [],
    ),
  );
});

test('each collection has a shard entry, and no entry names an unknown collection', () => {
  const entries = OWNERS.flatMap((owner) =>
    Object.keys(shardsOf[owner] ?? {}).map((name) => `${owner}/${name}`),
  );
  expect(entries.sort()).toEqual(collections.map(({ owner, name }) => `${owner}/${name}`).sort());
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
  expect(claimed).toEqual(needed);
  expect(needed.flatMap(([, , names]) => names)).not.toEqual([]);
});

test('each service compares its requests with the keys, and declares no scatter without a command', () => {
  const using = (what: RegExp) =>
    OWNERS.filter((owner) => {
      const folder = owner === RUNTIME ? 'packages/shared/test/' : `services/${owner}/test/`;
      return files.some((file) => file.startsWith(folder) && what.test(read(file)));
    });
  expect(using(/openCostMeter\([^)]*SHARDS/)).toEqual(SERVICES);
  expect(using(/unusedScatters\(\)\)\.toEqual\(\[\]\)/)).toEqual(OWNERS);
});

const code = (texts: readonly string[]): string => texts.map((text) => `\`${text}\``).join(', ');

const keyRow = ([name, entry]: [string, Sharded | Unsharded]): string[] => {
  if (!isSharded(entry)) return [`\`${name}\``, 'none', entry.bound];
  const { key, because, ids } = entry;
  const unique = ids === undefined ? '' : `; \`_id\`: ${ids}`;
  return [`\`${name}\``, code(key) + (key.length === 1 ? ', hashed' : ''), because + unique];
};

const keyTables = (): string =>
  OWNERS.map((owner) => {
    const rows = Object.entries(shardsOf[owner] ?? {}).map(keyRow);
    return `### ${owner}\n\n${markdownTable([['collection', 'shard key', 'why'], ...rows])}`;
  }).join('\n');

/** Whether a single-document command has neither the shard key nor the id. */
const isBlindWrite = (command: string): boolean => {
  const [operation = '', fields = ''] = command.split(': ');
  return SINGLE.includes(operation) && !fields.split(', ').includes('_id');
};

const scatterTable = (): string =>
  markdownTable([
    ['collection', 'commands', 'for'],
    ...sharded.flatMap(([owner, name, { scatters = {} }]) =>
      Object.entries(scatters).map(([reason, commands]) => [
        `${owner}: \`${name}\``,
        commands.map((command) => code([command]) + (isBlindWrite(command) ? ' ¹' : '')).join(', '),
        reason,
      ]),
    ),
  ]);

const claimTable = (): string =>
  markdownTable([
    ['collection', 'unique index', 'replaced by'],
    ...sharded.flatMap(([owner, name, { claims = {} }]) =>
      Object.entries(claims).map(([index, claim]) => [`${owner}: \`${name}\``, `\`${index}\``, claim]),
    ),
  ]);

test(`${DOCUMENT} shows the keys, scatters and claims; npm run generate writes it`, () => {
  const text = read(DOCUMENT);
  const written = Object.entries({ keys: keyTables(), scatters: scatterTable(), claims: claimTable() });
  const expected = written.reduce(
    (all, [name, table]) =>
      all.replace(
        new RegExp(`(<!-- ${name} -->\n)[^]*(<!-- /${name} -->)`),
        (_whole, begin: string, end: string) => `${begin}\n${table}\n${end}`,
      ),
    text,
  );
  if (process.env.UPDATE_DOCS === '1') writeFileSync(join(root, DOCUMENT), expected);
  else expect(text).toBe(expected);
  for (const [name] of written) expect(text).toContain(`<!-- /${name} -->`);
});
