/**
 * Which shards of a cluster a database command reaches, by the shard keys that each service names in its `test/shards.ts`
 * (docs/shard-keys.md).
 */
import { type Document, isDocument, joinsOf, lookupsOf, type SentCommand } from './lookups.ts';

export interface Sharded {
  /** One field is hashed; several are a range. */
  key: readonly string[];
  /** Why this is the key. */
  because: string;
  /** What keeps `_id` unique: a cluster does so only if `_id` is the key. */
  ids?: string;
  /** Commands that ask every shard, such as `find: facets, _id`, under the reason. */
  scatters?: Readonly<Record<string, readonly string[]>>;
  /** What replaces a unique index that does not begin with the key, by the name of the index. */
  claims?: Readonly<Record<string, string>>;
}

/** A collection that stays on one shard. */
export interface Unsharded {
  /** What limits its size and its load. */
  bound: string;
}

/** Collection → how it is sharded. */
export type Shards = Readonly<Record<string, Sharded | Unsharded>>;

export const isSharded = (entry: Sharded | Unsharded): entry is Sharded => 'key' in entry;

type Reach = 'one' | 'several' | 'all';

interface Access {
  collection: string;
  operation: string;
  /** The document of an insert. */
  filter: Document;
  isUpsert?: boolean;
  /** Fields that an update changes. */
  changes?: readonly string[];
}

/** Operations on one document, which must know its shard. */
export const SINGLE = ['insert', 'updateOne', 'deleteOne', 'findAndModify'];

export interface ShardCheck {
  /** Commands that a cluster would refuse, or that ask every shard without being listed. */
  faults(commands: readonly SentCommand[]): string[];
  /** Listed commands that were not among those of `faults`. */
  unused(): string[];
}

export const createShardCheck = (shards: Shards): ShardCheck => {
  const allShards: Shards = { ...RUNTIME_SHARDS, ...shards };
  const met = new Set<string>();
  const faultOf = (access: Access): string[] => {
    const entry = allShards[access.collection];
    if (entry === undefined) return [`${access.collection} has no shard key`];
    if (!isSharded(entry)) return [];
    const scatter = `${access.collection} ${nameOf(access)}`;
    const refusal = refusalOf(access, entry);
    if (refusal !== undefined) return [`${refusal}: ${scatter}`];
    const reach = reachOf(access.filter, entry.key);
    if (reach === 'one' || (reach === 'several' && !SINGLE.includes(access.operation))) return [];
    met.add(scatter);
    return scattersOf(access.collection, entry).includes(scatter) ? [] : [`every shard is asked: ${scatter}`];
  };
  return {
    faults: (commands) => [...new Set(commands.flatMap(accessesOf).flatMap(faultOf))],
    unused: () =>
      Object.entries(shards)
        .flatMap(([collection, entry]) => (isSharded(entry) ? scattersOf(collection, entry) : []))
        .filter((scatter) => !met.has(scatter)),
  };
};

const scattersOf = (collection: string, { scatters = {} }: Sharded): string[] =>
  Object.values(scatters)
    .flat()
    .map((name) => `${collection} ${name}`);

/** A fault that no listed reason excuses; undefined if there is none. */
const refusalOf = (
  { operation, filter, isUpsert, changes }: Access,
  { key }: Sharded,
): string | undefined => {
  const isOnOneShard = reachOf(filter, key) === 'one';
  if (operation === 'insert' && !isOnOneShard) return 'an insert without the shard key';
  if (isUpsert === true && !isOnOneShard) return 'an upsert without the shard key';
  // Nothing changes `_id`; an update may name it.
  const isMoved = changes?.some((field) => field !== '_id' && key.includes(field)) === true;
  return isMoved ? 'an update of the shard key' : undefined;
};

const reachOf = (filter: Document, key: readonly string[]): Reach => {
  const [first, ...rest] = key.map((field) => fieldReach(filter, field, key.length > 1));
  if (first === undefined || first === 'all') return 'all';
  return [first, ...rest].every((reach) => reach === 'one') ? 'one' : 'several';
};

const fieldReach = (filter: Document, field: string, isRanged: boolean): Reach => {
  const within = (filters: unknown): Reach[] =>
    ((filters ?? []) as Document[]).map((one) => fieldReach(one, field, isRanged));
  const alternatives = within(filter.$or);
  const reaches = [conditionReach(filter[field], isRanged), ...within(filter.$and)];
  if (alternatives.length > 0) reaches.push(alternatives.includes('all') ? 'all' : 'several');
  return (['one', 'several'] as const).find((reach) => reaches.includes(reach)) ?? 'all';
};

const conditionReach = (condition: unknown, isRanged: boolean): Reach => {
  if (condition === undefined) return 'all';
  if (!isDocument(condition) || condition.$eq !== undefined) return 'one';
  if (Array.isArray(condition.$in)) return condition.$in.length === 1 ? 'one' : 'several';
  return isRanged ? 'several' : 'all';
};

const nameOf = ({ operation, filter }: Access): string =>
  operation === 'insert' ? operation : `${operation}: ${[...fieldsOf(filter)].sort().join(', ') || 'all'}`;

const fieldsOf = (filter: Document): Set<string> =>
  new Set(
    Object.entries(filter).flatMap(([field, condition]) =>
      field === '$and' || field === '$or'
        ? (condition as Document[]).flatMap((one) => [...fieldsOf(one)])
        : [field],
    ),
  );

const accessesOf = (sent: SentCommand): Access[] => {
  const { name, collection, command } = sent;
  switch (name) {
    case 'insert':
      return (command.documents as Document[]).map((filter) => ({ collection, operation: name, filter }));
    case 'count':
    case 'distinct':
      return [{ collection, operation: name, filter: (command.query ?? {}) as Document }];
    case 'aggregate':
      return aggregated(collection, command.pipeline as Document[]);
    case 'bulkWrite':
      return [...insertedInBulk(command), ...looked(sent)];
    default:
      return looked(sent);
  }
};

const aggregated = (collection: string, stages: Document[]): Access[] => {
  const end = stages.findIndex(({ $match }) => $match === undefined);
  // Leading conditions become one.
  const conditions = stages.slice(0, end < 0 ? undefined : end).map(({ $match }) => $match);
  const joins = joinsOf(stages).map(({ from, foreignField }) => ({
    collection: String(from),
    operation: 'join',
    filter: { [String(foreignField)]: 'any' },
  }));
  if (collection === '') return joins;
  return [{ collection, operation: 'aggregate', filter: { $and: conditions } }, ...joins];
};

const insertedInBulk = ({ ops, nsInfo }: Document): Access[] =>
  (ops as Document[]).flatMap(({ insert, document }) => {
    if (insert === undefined) return [];
    const { ns } = (nsInfo as { ns: string }[])[Number(insert)] as { ns: string };
    const collection = ns.slice(ns.indexOf('.') + 1);
    return [{ collection, operation: 'insert', filter: document as Document }];
  });

const looked = (sent: SentCommand): Access[] =>
  lookupsOf(sent).map(({ command, read }) => {
    const collection = String(read.find);
    const filter = (read.filter ?? {}) as Document;
    const [update] = (command.updates ?? []) as Document[];
    const [removal] = (command.deletes ?? []) as Document[];
    if (update !== undefined)
      return {
        collection,
        filter,
        operation: update.multi === true ? 'updateMany' : 'updateOne',
        isUpsert: update.upsert === true,
        changes: changedBy(update.u),
      };
    if (removal !== undefined)
      return { collection, filter, operation: removal.limit === 1 ? 'deleteOne' : 'deleteMany' };
    const isUpsert = command.upsert === true;
    return { collection, filter, operation: sent.name, isUpsert, changes: changedBy(command.update) };
  });

/** The fields that an update names, besides those of a document that it creates. */
const changedBy = (update: unknown): string[] =>
  [update]
    .flat()
    .flatMap((stage) =>
      Object.entries((stage ?? {}) as Document).flatMap(([operator, fields]) =>
        operator === '$setOnInsert' || !isDocument(fields) ? [] : Object.keys(fields),
      ),
    );

/** The collections of the service runtime, which every service has. */
export const RUNTIME_SHARDS: Shards = {
  audit_entries: { bound: 'what operators do: 1 KB each, so a million a year are 1 GB' },
  audit_keys: { key: ['_id'], because: 'the number of a person; every command names it' },
  audit_results: { bound: 'a document for each kind of audit' },
  audit_seals: { bound: 'one chain: a document for up to 500 entries, in a separate database' },
  audit_sequences: { bound: 'one document' },
  idempotency_keys: {
    key: ['_id'],
    because: 'the hash of user and key; every repeat of a request names it',
    scatters: { 'the erasure of an account, once': ['find: user_id'] },
  },
  inbox: {
    key: ['consumer', 'eventId'],
    because: 'the unique index that makes an event have one effect; event ids are random, which spreads them',
    ids: 'an ObjectId, which nothing reads',
  },
  outbox: { bound: 'one relay publishes in the order of `_id`; a row is deleted when the broker has it' },
  rate_limits: { key: ['_id'], because: 'the hash of what is limited; every command names it' },
  relay_leases: { bound: 'one document' },
  sequences: { bound: 'a document for each kind of id; callers of a process share its writes' },
  upgrades: { bound: 'a document for each upgrade' },
};
