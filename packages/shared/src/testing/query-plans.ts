/** Explains the plans of database commands and finds their faults. */
import type { Connection } from 'mongoose';
import { auditSealsOf } from '../audit/models.ts';
import { FILLED } from './fill.ts';
import {
  collectionOf,
  type Document,
  isDocument,
  lookupsOf,
  type SentCommand,
  shapeOf,
  toPlain,
} from './lookups.ts';

/** An accepted fault on a stand-in for MongoDB. There are none for MongoDB itself. */
export interface PlanException {
  /** Prefix of name and version: `SecantusDB 0.5.3-beta.165`. */
  server: `SecantusDB${string}`;
  /** Prefix of the fault: `SORT: find posts {"facets":"?"`. */
  fault: string;
  reason: string;
}

/** The default without MongoDB and Docker, and the server with the weakest planner (docs/adr/0101). */
const PREBUILT = 'SecantusDB 0.5.3-beta.165';

/** Accepted faults on the prebuilt server with their reason; `faults` are prefixes. */
export const exceptOnPrebuilt = (reason: string, faults: readonly string[]): PlanException[] =>
  faults.map((fault) => ({ server: PREBUILT, fault, reason }));

export interface PlanOptions {
  /** Collections that stay small in production, with the reason; their plans are not checked. */
  small?: Readonly<Record<string, string>>;
  exceptions?: readonly PlanException[];
  /** Also checks the collections of the service runtime. */
  withRuntime?: boolean;
}

/** Collections of the service runtime; packages/shared/test/mongo/explain.long.test.ts checks their queries for all services. */
const RUNTIME_COLLECTIONS = [
  ...['outbox', 'inbox', 'idempotency_keys', 'rate_limits'],
  ...['audit_entries', 'audit_keys', 'audit_seals'],
];

/** A plan that examines more than this is a fault: a tenth of a filled collection. */
const EXAMINED_MAX = FILLED / 10;

const SMALL: Readonly<Record<string, string>> = {
  sequences: 'one document for each sequence',
  audit_sequences: 'one document',
  relay_leases: 'one document',
  upgrades: 'one document for each upgrade',
};

interface Plan {
  stage?: string;
  inputStage?: Plan;
  inputStages?: Plan[];
  queryPlan?: Plan;
}

/** Finds the faults of commands of `connection`; see `CommandWatch.faults`. */
export const createFaultFinder = (
  connection: Connection,
  { small = {}, exceptions = [], withRuntime = false }: PlanOptions,
): ((commands: readonly SentCommand[]) => Promise<string[]>) => {
  const filled = new Set<string>();
  /** Each lookup is explained once, because an explain may read the whole collection. */
  const plans = new Map<string, ExplainedPlan>();
  const explain = async (command: Document, collection: string): Promise<ExplainedPlan> => {
    const key = JSON.stringify(command, (_field, value) => toPlain(value));
    const plan = plans.get(key) ?? (await planOf(databaseOf(connection, collection), command));
    plans.set(key, plan);
    return plan;
  };
  return async (commands) => {
    const server = await serverOf(connection);
    const isExcepted = (fault: string): boolean =>
      exceptions.some(
        (exception) => server.name.startsWith(exception.server) && fault.startsWith(exception.fault),
      );
    const faults = new Map<string, string>();
    for (const sent of commands)
      for (const { command, read } of lookupsOf(sent)) {
        const collection = collectionOf(read);
        if (!withRuntime && RUNTIME_COLLECTIONS.includes(collection)) continue;
        const shape = `${sent.name} ${shapeOf(read)}`;
        if (read.hint !== undefined) faults.set(`a named index: ${shape}`, '');
        if ({ ...SMALL, ...small }[collection] !== undefined) continue;
        if (server.scansWritesById && isWriteById(sent.name, read)) continue;
        await assertFilled(connection, collection, filled);
        const plan = await explain(server.explainsWrites ? command : asRead(sent.name, read), collection);
        for (const kind of kindsOfFault(plan))
          faults.set(
            `${kind}: ${shape}`,
            `; ${plan.stages.join(' < ')}, ${plan.examined} documents examined`,
          );
      }
    const hint = server.name.startsWith('SecantusDB')
      ? ' (if MongoDB has no such plan: EXCEPTIONS of the test)'
      : '';
    return [...faults].filter(([fault]) => !isExcepted(fault)).map(([fault, plan]) => fault + plan + hint);
  };
};

/** The seals of the audit log are in a separate database. */
const databaseOf = (connection: Connection, collection: string): Connection =>
  collection === 'audit_seals' ? auditSealsOf(connection) : connection;

const assertFilled = async (
  connection: Connection,
  collection: string,
  filled: Set<string>,
): Promise<void> => {
  if (filled.has(collection)) return;
  const documents = databaseOf(connection, collection).collection(collection);
  const count = await documents.estimatedDocumentCount();
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
  const existing = servers.get(connection) ?? askServer(connection);
  servers.set(connection, existing);
  return existing;
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
 * The read that shows how a server without explained writes finds the documents of a write. For findAndModify that server
 * reads the document and then writes it by `{_id, $and: [query]}`.
 */
const asRead = (name: string, read: Document): Document =>
  name === 'findAndModify' ? { ...read, filter: { $and: [read.filter] } } : read;

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
