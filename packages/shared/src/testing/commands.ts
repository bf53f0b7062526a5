/**
 * Records the database commands of a service and explains their plans, for tests. The service runs with
 * {@link monitored} in its configuration; its connection is found by the name of its database.
 */
import mongoose, { type Connection } from 'mongoose';

type Document = Record<string, unknown>;

export interface SentCommand {
  /** `find`, `aggregate`, `insert`, `update`, `delete`, `findAndModify`, `commitTransaction`, … */
  name: string;
  /** Empty for a command without a collection. */
  collection: string;
  inTransaction: boolean;
  command: Document;
  /** `performance.now()` in milliseconds; `answeredAt` is infinite until there is a response. */
  sentAt: number;
  answeredAt: number;
}

/** Number of sequential round trips: concurrent commands count as one. */
export const roundTrips = (commands: readonly SentCommand[]): number => {
  let [trips, answeredAt] = [0, Number.NEGATIVE_INFINITY];
  for (const command of commands.toSorted((one, other) => one.sentAt - other.sentAt)) {
    if (command.sentAt >= answeredAt) trips += 1;
    answeredAt = Math.max(answeredAt, command.answeredAt);
  }
  return trips;
};

export interface CommandWatch {
  /** All commands of the process during `work`, oldest first. */
  during(work: () => Promise<unknown>): Promise<SentCommand[]>;
  /**
   * Faults in the plans, as texts with command and plan: a collection scan, an in-memory sort, an index that reads a large
   * part of the collection, an index hint. Throws when a collection has fewer than {@link FILLED} documents, or when the
   * database returns no plan: the check would prove nothing.
   */
  faults(commands: readonly SentCommand[]): Promise<string[]>;
}

/** An accepted fault on a stand-in for MongoDB. There are none for MongoDB itself. */
export interface PlanException {
  /** Prefix of name and version: `SecantusDB 0.5.3-beta.165`. */
  server: `SecantusDB${string}`;
  /** Prefix of the fault: `SORT: find posts {"facets":"?"`. */
  fault: string;
  reason: string;
}

/** The default without MongoDB and Docker, and the server with the weakest planner (docs/adr/0018). */
const PREBUILT = 'SecantusDB 0.5.3-beta.165';

/** Accepted faults on the prebuilt server with their reason; `faults` are prefixes. */
export const exceptOnPrebuilt = (reason: string, faults: readonly string[]): PlanException[] =>
  faults.map((fault) => ({ server: PREBUILT, fault, reason }));

export interface WatchOptions {
  /** Collections that stay small in production, with the reason; their plans are not checked. */
  small?: Readonly<Record<string, string>>;
  exceptions?: readonly PlanException[];
  /** Also checks the collections of the service runtime. */
  withRuntime?: boolean;
}

/** Collections of the service runtime; packages/shared/test/mongo/explain.test.ts checks their queries for all services. */
const RUNTIME_COLLECTIONS = ['outbox', 'inbox', 'idempotency_keys', 'rate_limits'];

/** Minimum number of documents in a collection that a checked command reads. */
export const FILLED = 20_000;

/** A plan that examines more than this is a fault: a tenth of a filled collection. */
const EXAMINED_MAX = FILLED / 10;

/** Timeout of a hook that fills collections; an idle machine takes about a second for each. */
export const FILL_TIMEOUT_MS = 300_000;

/** Documents per insert command. */
const BATCH = 2_000;

const SMALL = {
  sequences: 'one document for each sequence',
  relay_leases: 'one document',
  upgrades: 'one document for each upgrade',
};

interface Plan {
  stage?: string;
  inputStage?: Plan;
  inputStages?: Plan[];
  queryPlan?: Plan;
}

/** A configuration with command monitoring. */
export const monitored = <Config extends { MONGODB_URI: string }>(config: Config): Config => {
  const separator = config.MONGODB_URI.includes('?') ? '&' : '?';
  return { ...config, MONGODB_URI: `${config.MONGODB_URI}${separator}monitorCommands=true` };
};

/** Records the commands of this process's connection to `database`. */
export const watchCommands = (
  database: string,
  { small = {}, exceptions = [], withRuntime = false }: WatchOptions = {},
): CommandWatch => {
  const connection = mongoose.connections.find(
    (candidate) => candidate.name === database && candidate.getClient().options.monitorCommands,
  );
  if (connection === undefined) throw new Error(`no monitored connection to ${database}`);
  let watched: SentCommand[] | undefined;
  const underWay = new Map<number, SentCommand>();
  const known: Known = { filled: new Set(), plans: new Map() };
  const client = connection.getClient();
  client.on('commandStarted', ({ commandName, command, requestId }) => {
    if (watched === undefined) return;
    const sent = toSent(commandName, command as Document);
    watched.push(sent);
    underWay.set(requestId, sent);
  });
  const answered = ({ requestId }: { requestId: number }): void => {
    const sent = underWay.get(requestId);
    if (sent !== undefined) sent.answeredAt = performance.now();
    underWay.delete(requestId);
  };
  client.on('commandSucceeded', answered);
  client.on('commandFailed', answered);
  return {
    during: async (work) => {
      const sent: SentCommand[] = [];
      watched = sent;
      try {
        await work();
      } finally {
        watched = undefined;
      }
      return sent;
    },
    faults: (commands) =>
      findFaults(connection, commands, { small: { ...SMALL, ...small }, exceptions, withRuntime }, known),
  };
};

const toSent = (name: string, command: Document): SentCommand => {
  const collection = command[name];
  return {
    name,
    collection: typeof collection === 'string' ? collection : '',
    inTransaction: command.autocommit === false,
    command: { ...command },
    sentAt: performance.now(),
    answeredAt: Number.POSITIVE_INFINITY,
  };
};

/** The transaction fields of a command, which `explain` does not accept. */
const ENVELOPE = new Set([
  ...['lsid', 'txnNumber', 'autocommit', 'startTransaction', 'readConcern', 'writeConcern'],
  ...['$db', '$clusterTime', '$readPreference', 'maxTimeMS', 'stmtId'],
]);

const asSent = (command: Document): Document =>
  Object.fromEntries(Object.entries(command).filter(([field]) => !ENVELOPE.has(field)));

/** A single write as its own command, and as the read with the same filter. */
interface Lookup {
  command: Document;
  read: Document;
}

/** The lookups of a command. An insert has none. */
const lookupsOf = ({ name, collection, command }: SentCommand): Lookup[] => {
  const reads = (read: Document): Lookup => ({ command: read, read });
  switch (name) {
    case 'find':
      return [reads(asSent(command))];
    case 'count':
    case 'distinct':
      return command.query === undefined ? [] : [reads({ find: collection, filter: command.query })];
    case 'update':
      return (command.updates as Document[]).map((one) => ({
        command: { update: collection, updates: [one] },
        read: readOf(collection, one),
      }));
    case 'delete':
      return (command.deletes as Document[]).map((one) => ({
        command: { delete: collection, deletes: [one] },
        read: readOf(collection, one),
      }));
    case 'bulkWrite':
      return bulkLookups(command);
    case 'findAndModify':
      return [{ command: asSent(command), read: readOf(collection, { ...command, q: command.query }) }];
    case 'aggregate':
      return aggregateReads(collection, command).map(reads);
    default:
      return [];
  }
};

const readOf = (collection: string, { q, sort, hint }: Document): Document => ({
  find: collection,
  filter: q,
  ...(sort === undefined ? {} : { sort }),
  ...(hint === undefined ? {} : { hint }),
});

const bulkLookups = ({ ops, nsInfo }: Document): Lookup[] =>
  (ops as Document[]).flatMap(({ update, delete: removed, filter, multi, updateMods, hint }) => {
    const index = update ?? removed;
    if (index === undefined) return [];
    const { ns } = (nsInfo as { ns: string }[])[Number(index)] as { ns: string };
    const collection = ns.slice(ns.indexOf('.') + 1);
    const given = { q: filter, ...(hint === undefined ? {} : { hint }) };
    const command =
      update === undefined
        ? { delete: collection, deletes: [{ ...given, limit: multi === true ? 0 : 1 }] }
        : { update: collection, updates: [{ ...given, u: updateMods, multi: multi === true }] };
    return [{ command, read: readOf(collection, given) }];
  });

const aggregateReads = (collection: string, command: Document): Document[] => {
  const stages = command.pipeline as Document[];
  // An aggregation over literal documents reads only the collections that it joins.
  const joined = stages.flatMap(({ $lookup }) => ($lookup === undefined ? [] : [$lookup as Document]));
  const joins = joined.map(({ from, foreignField }) => ({
    find: from,
    filter: { [String(foreignField)]: 'any' },
  }));
  if (collection === '') return joins;
  const [first, second] = stages;
  // Not every server shows the sort in the plan of an aggregation.
  const sorted =
    first?.$match === undefined || second?.$sort === undefined
      ? []
      : [{ find: collection, filter: first.$match, sort: second.$sort }];
  return [asSent(command), ...sorted, ...joins];
};

/** Explained lookups, cached because an explain may read the whole collection. */
interface Known {
  filled: Set<string>;
  plans: Map<string, ExplainedPlan>;
}

const findFaults = async (
  connection: Connection,
  commands: readonly SentCommand[],
  { small, exceptions, withRuntime }: Required<WatchOptions>,
  { filled, plans }: Known,
): Promise<string[]> => {
  const server = await serverOf(connection);
  const isExcepted = (fault: string): boolean =>
    exceptions.some(
      (exception) => server.name.startsWith(exception.server) && fault.startsWith(exception.fault),
    );
  const found = new Map<string, string>();
  for (const sent of commands)
    for (const { command, read } of lookupsOf(sent)) {
      if (!withRuntime && RUNTIME_COLLECTIONS.includes(collectionOf(read))) continue;
      const shape = `${sent.name} ${shapeOf(read)}`;
      if (read.hint !== undefined) found.set(`a named index: ${shape}`, '');
      if (small[collectionOf(read)] !== undefined) continue;
      if (server.scansWritesById && isWriteById(sent.name, read)) continue;
      await assertFilled(connection, collectionOf(read), filled);
      const explained = server.explainsWrites ? command : servedAs(sent.name, read);
      const key = JSON.stringify(explained, (_field, value) => toPlain(value));
      const plan = plans.get(key) ?? (await planOf(connection, explained));
      plans.set(key, plan);
      for (const kind of kindsOfFault(plan))
        found.set(`${kind}: ${shape}`, `; ${plan.stages.join(' < ')}, ${plan.examined} documents examined`);
    }
  return [...found].filter(([fault]) => !isExcepted(fault)).map(([fault, plan]) => fault + plan);
};

const collectionOf = ({ find, aggregate }: Document): string => String(find ?? aggregate);

const assertFilled = async (
  connection: Connection,
  collection: string,
  filled: Set<string>,
): Promise<void> => {
  if (filled.has(collection)) return;
  const count = await connection.collection(collection).estimatedDocumentCount();
  if (count < FILLED)
    throw new Error(`${collection} holds ${count} documents: a plan is judged on at least ${FILLED}`);
  filled.add(collection);
};

interface Server {
  /** Name and version. */
  name: string;
  /** False for a stand-in that explains every write as a collection scan. */
  explainsWrites: boolean;
  /** Scans for every condition besides `_id`, and for every findAndModify. */
  scansWritesById: boolean;
}

const WRITES = ['update', 'delete', 'findAndModify', 'bulkWrite'];

/**
 * A conditional write by `_id`. It stays one atomic command: every other server finds the document by its id.
 */
const isWriteById = (name: string, { filter }: Document): boolean =>
  WRITES.includes(name) && isDocument(filter) && Object.hasOwn(filter, '_id');

const servers = new WeakMap<Connection, Promise<Server>>();

const serverOf = (connection: Connection): Promise<Server> => {
  const known = servers.get(connection) ?? askServer(connection);
  servers.set(connection, known);
  return known;
};

const askServer = async (connection: Connection): Promise<Server> => {
  const build = await connection.db?.admin().command({ buildInfo: 1 });
  const byId = { delete: 'sequences', deletes: [{ q: { _id: 'none' }, limit: 1 }] };
  const { stages } = await planOf(connection, byId);
  const name =
    build?.secantusVersion === undefined
      ? `MongoDB ${build?.version}`
      : `SecantusDB ${build.secantusVersion}`;
  return {
    name,
    scansWritesById: name === PREBUILT,
    explainsWrites: !stages.includes('COLLSCAN'),
  };
};

interface ExplainedPlan {
  stages: string[];
  examined: number;
}

const planOf = async (connection: Connection, command: Document): Promise<ExplainedPlan> => {
  const answer = await connection.db?.command({ explain: command, verbosity: 'executionStats' });
  const stages = valuesOf(answer, 'winningPlan').flatMap((plan) => stagesIn(plan as Plan));
  if (stages.length === 0) throw new Error(`the database shows no plan of ${JSON.stringify(command)}`);
  const examined = Math.max(0, ...valuesOf(answer, 'totalDocsExamined').map(Number));
  return { stages, examined };
};

const kindsOfFault = ({ stages, examined }: ExplainedPlan): string[] => {
  if (stages.includes('COLLSCAN')) return ['COLLSCAN'];
  return [
    ...(stages.includes('SORT') ? ['SORT'] : []),
    ...(examined > EXAMINED_MAX ? ['a wide index scan'] : []),
  ];
};

/**
 * Fills `collection` with {@link FILLED} copies of one of its documents. `change` returns at least the unique fields of each
 * copy; without an `_id` each gets an ObjectId.
 */
export const fillLike = async (
  connection: Connection,
  collection: string,
  change: (n: number) => Document,
  like: Document = {},
): Promise<void> => {
  const documents = connection.collection(collection);
  const stored = await documents.findOne(like);
  if (stored === null) throw new Error(`${collection} holds nothing to copy`);
  const { _id, ...fields } = stored;
  for (let first = 1; first <= FILLED; first += BATCH) {
    const batch = Array.from({ length: BATCH }, (_, index) => ({ ...fields, ...change(first + index) }));
    await documents.insertMany(batch, { ordered: false });
  }
};

/**
 * The lookups of a write on a server that does not explain writes. For findAndModify it reads the document and then writes
 * it by `{_id, $and: [query]}`.
 */
const servedAs = (name: string, read: Document): Document =>
  name === 'findAndModify' ? { ...read, filter: { $and: [read.filter] } } : read;

/** A lookup without its values, equal for two calls of one query. */
const shapeOf = ({ find, filter, sort, limit, aggregate, pipeline }: Document): string => {
  const blank = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.every((one) => isDocument(one)) ? value.map(blank) : ['?'];
    if (!isDocument(value)) return '?';
    return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, blank(inner)]));
  };
  if (find === undefined) {
    const [first, second] = pipeline as Document[];
    return shapeOf({ find: aggregate, filter: first?.$match ?? {}, sort: second?.$sort });
  }
  const sorted = sort === undefined ? '' : ` sort ${JSON.stringify(toPlain(sort))}`;
  return `${find} ${JSON.stringify(blank(filter))}${sorted}${limit === undefined ? '' : ' limit'}`;
};

const isDocument = (value: unknown): value is Document =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** The driver represents a sort as a Map. */
const toPlain = (sort: unknown): unknown => (sort instanceof Map ? Object.fromEntries(sort) : sort);

/** All values of `field` at any depth, except those inside another one. */
const valuesOf = (answer: unknown, field: string): unknown[] => {
  if (typeof answer !== 'object' || answer === null) return [];
  return Object.entries(answer).flatMap(([key, value]) => (key === field ? [value] : valuesOf(value, field)));
};

const stagesIn = (plan: Plan | undefined): string[] => {
  if (plan === undefined) return [];
  const inner = [plan.queryPlan, plan.inputStage, ...(plan.inputStages ?? [])];
  return [plan.stage ?? '', ...inner.flatMap(stagesIn)].filter((stage) => stage !== '');
};
