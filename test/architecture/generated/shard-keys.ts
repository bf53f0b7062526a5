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
import { markdownTable, read, root, SERVICES } from '../support.ts';

const DOCUMENT = 'docs/shard-keys.md';
export const RUNTIME = 'every service';

/** The shard entries of each service. */
export const loadShards = async (): Promise<Map<string, Shards>> => {
  const shards = new Map<string, Shards>([[RUNTIME, RUNTIME_SHARDS]]);
  for (const service of SERVICES) {
    const { SHARDS } = await import(pathToFileURL(join(root, `services/${service}/test/shards.ts`)).href);
    shards.set(service, SHARDS);
  }
  return shards;
};

/** Owner, collection name and entry of each sharded collection. */
export const shardedOf = (shards: ReadonlyMap<string, Shards>): [string, string, Sharded][] =>
  [...shards].flatMap(([owner, entries]) =>
    Object.entries(entries).flatMap(([name, entry]): [string, string, Sharded][] =>
      isSharded(entry) ? [[owner, name, entry]] : [],
    ),
  );

const code = (texts: readonly string[]): string => texts.map((text) => `\`${text}\``).join(', ');

const keyRow = ([name, entry]: [string, Sharded | Unsharded]): string[] => {
  if (!isSharded(entry)) return [`\`${name}\``, 'none', entry.bound];
  const { key, because, ids } = entry;
  const unique = ids === undefined ? '' : `; \`_id\`: ${ids}`;
  return [`\`${name}\``, code(key) + (key.length === 1 ? ', hashed' : ''), because + unique];
};

const keyTables = (shards: ReadonlyMap<string, Shards>): string =>
  [...shards]
    .map(([owner, entries]) => {
      const rows = Object.entries(entries).map(keyRow);
      return `### ${owner}\n\n${markdownTable([['collection', 'shard key', 'why'], ...rows])}`;
    })
    .join('\n');

/** Whether a single-document command has neither the shard key nor the id. */
const isBlindWrite = (command: string): boolean => {
  const [operation = '', fields = ''] = command.split(': ');
  return SINGLE.includes(operation) && !fields.split(', ').includes('_id');
};

const scatterTable = (sharded: readonly [string, string, Sharded][]): string =>
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

const claimTable = (sharded: readonly [string, string, Sharded][]): string =>
  markdownTable([
    ['collection', 'unique index', 'replaced by'],
    ...sharded.flatMap(([owner, name, { claims = {} }]) =>
      Object.entries(claims).map(([index, claim]) => [`${owner}: \`${name}\``, `\`${index}\``, claim]),
    ),
  ]);

const replaceBetween = (text: string, name: string, table: string): string => {
  const [begin, end] = [`<!-- ${name} -->\n`, `<!-- /${name} -->`];
  const [from, to] = [text.indexOf(begin) + begin.length, text.indexOf(end)];
  if (to < from) throw new Error(`${DOCUMENT} has no part <!-- ${name} -->`);
  return `${text.slice(0, from)}\n${table}\n${text.slice(to)}`;
};

/** The shard keys, the scatters and the claims. */
export const generate = async (): Promise<Record<string, string>> => {
  const shards = await loadShards();
  const sharded = shardedOf(shards);
  let text = replaceBetween(read(DOCUMENT), 'keys', keyTables(shards));
  text = replaceBetween(text, 'scatters', scatterTable(sharded));
  return { [DOCUMENT]: replaceBetween(text, 'claims', claimTable(sharded)) };
};
