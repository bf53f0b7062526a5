/**
 * Each collection has a shard key, or a reason to stay on one shard, and docs/scaling.md shows them. The tests of the services
 * compare each recorded command with the keys (`services/<name>/test/shards.ts`).
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
/** Owner, collection, entry. */
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

test('each collection has an entry, and no entry names another one', () => {
  const entries = OWNERS.flatMap((owner) =>
    Object.keys(shardsOf[owner] ?? {}).map((name) => `${owner}/${name}`),
  );
  expect(entries.sort()).toEqual(collections.map(({ owner, name }) => `${owner}/${name}`).sort());
});

test('a shard key is a stored field', () => {
  const unknown = sharded.filter(([owner, name, { key }]) => {
    const schema = collections.find((one) => one.owner === owner && one.name === name)?.schema;
    return schema === undefined ? key.join() !== '_id' : key.some((field) => !schema.path(field));
  });
  expect(unknown).toEqual([]);
});

test('what keeps ids unique is said where a cluster does not, and only there', () => {
  const wrong = sharded.filter(([, , { key, ids }]) => (key.join() === '_id') !== (ids === undefined));
  expect(wrong).toEqual([]);
});

/** Names of the unique indexes that do not begin with the shard key of their collection. */
const preventing = ([owner, name, { key }]: [string, string, Sharded]): string[] =>
  Object.entries(JSON.parse(read('test/architecture/indexes.json')) as Record<string, string>).flatMap(
    ([index, definition]) => {
      const prefix = `${owner}: ${name}.`;
      const { fields, unique } = JSON.parse(definition) as { fields: object; unique?: true };
      const isPrefix = Object.keys(fields).slice(0, key.length).join() === key.join();
      return index.startsWith(prefix) && unique === true && !isPrefix ? [index.slice(prefix.length)] : [];
    },
  );

test('what replaces a unique index is said where it does not begin with the shard key, and only there', () => {
  const claimed = sharded.map(([owner, name, { claims = {} }]) => [owner, name, Object.keys(claims).sort()]);
  const needed = sharded.map((entry) => [entry[0], entry[1], preventing(entry).sort()]);
  expect(claimed).toEqual(needed);
  expect(needed.flatMap(([, , names]) => names)).not.toEqual([]);
});

test('each service compares its requests with the keys, and looks for scatters that no command is', () => {
  const using = (what: RegExp) =>
    OWNERS.filter((owner) => {
      const folder = owner === RUNTIME ? 'packages/shared/test/' : `services/${owner}/test/`;
      return files.some((file) => file.startsWith(folder) && what.test(read(file)));
    });
  expect(using(/openCostMeter\([^)]*SHARDS/)).toEqual(SERVICES);
  expect(using(/unmetScatters\(\)\)\.toEqual\(\[\]\)/)).toEqual(OWNERS);
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

/** Without the id either. */
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

test(`${DOCUMENT} shows them; npm run generate writes it`, () => {
  const text = read(DOCUMENT);
  const written = Object.entries({ keys: keyTables(), scatters: scatterTable(), claims: claimTable() });
  const expected = written.reduce(
    (all, [name, made]) =>
      all.replace(
        new RegExp(`(<!-- ${name} -->\n)[^]*(<!-- /${name} -->)`),
        (_whole, begin: string, end: string) => `${begin}\n${made}\n${end}`,
      ),
    text,
  );
  if (process.env.UPDATE_DOCS === '1') writeFileSync(join(root, DOCUMENT), expected);
  else expect(text).toBe(expected);
  for (const [name] of written) expect(text).toContain(`<!-- /${name} -->`);
});
