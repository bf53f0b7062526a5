/** Writes to several collections in one command. */
import type { ClientSession, Connection } from '@fitness/shared/mongo/connect.ts';
import mongoose, { type Model } from 'mongoose';

type Collection = Model<never>['collection'];
/** The database that receives the `bulkWrite` command. Opened once, because opening it resolves all client options. */
type Admin = ReturnType<ReturnType<Connection['getClient']>['db']>;

/** Changes one document that matches `filter`. */
export interface Update {
  collection: Collection;
  filter: object;
  change: object;
}

export interface Insert {
  collection: Collection;
  documents: readonly object[];
}

interface Writes {
  /** Executed first, in this order. */
  updates: readonly Update[];
  inserts: readonly Insert[];
}

/**
 * Executes the writes in the transaction of `session`. They may be its first command only if it has no read concern. Returns
 * the index of the first update that matched no document, else undefined. After an index, abort the transaction: other writes
 * may have been executed. Rejects like single writes.
 */
export type BulkWrite = (session: ClientSession, writes: Writes) => Promise<number | undefined>;

/** Wire version of MongoDB 8, the first with the command `bulkWrite`. */
const BULK_WRITE_WIRE_VERSION = 25;

/** `wireVersion` is the server's; by default it is queried. */
export const createBulkWrite = (
  connection: Connection,
  wireVersion: Promise<number> = askWireVersion(connection),
): BulkWrite => {
  // Queried once. When that fails, the writes are sent one by one, which every server accepts.
  const hasCommand = wireVersion.then(
    (version) => version >= BULK_WRITE_WIRE_VERSION,
    () => false,
  );
  const admin = connection.getClient().db('admin');
  return async (session, writes) =>
    (await hasCommand) ? inOneCommand(connection.name, admin, session, writes) : oneByOne(session, writes);
};

const askWireVersion = async (connection: Connection): Promise<number> => {
  const hello = await connection.getClient().db('admin').command({ hello: 1 });
  return Number(hello.maxWireVersion);
};

const oneByOne = async (
  session: ClientSession,
  { updates, inserts }: Writes,
): Promise<number | undefined> => {
  for (const [index, { collection, filter, change }] of updates.entries()) {
    const { matchedCount } = await collection.updateOne(filter, change, { session });
    if (matchedCount === 0) return index;
  }
  for (const { collection, documents } of inserts) {
    if (documents.length > 0) await collection.insertMany([...documents] as never[], { session });
  }
  return undefined;
};

/** The reply of `bulkWrite`, as documented in the MongoDB manual. */
interface BulkReply {
  nMatched: number;
  nErrors: number;
  cursor: { firstBatch: { ok: number; idx: number; n?: number; code?: number; errmsg?: string }[] };
}

/** Sends the raw command: the driver's `bulkWrite` splits the operations and reads the reply through a cursor. */
const inOneCommand = async (
  database: string,
  admin: Admin,
  session: ClientSession,
  { updates, inserts }: Writes,
): Promise<number | undefined> => {
  const namespaces: string[] = [];
  const indexOf = ({ name }: Collection): number => {
    const namespace = `${database}.${name}`;
    const index = namespaces.indexOf(namespace);
    return index === -1 ? namespaces.push(namespace) - 1 : index;
  };
  const ops = [
    ...updates.map(({ collection, filter, change }) => ({
      update: indexOf(collection),
      filter,
      updateMods: change,
    })),
    ...inserts.flatMap(({ collection, documents }) =>
      documents.map((document) => ({ insert: indexOf(collection), document })),
    ),
  ];
  // `nMatched` is enough for a single update; for several, only the individual results say which one matched nothing.
  const errorsOnly = updates.length <= 1;
  const nsInfo = namespaces.map((ns) => ({ ns }));
  const command = { bulkWrite: 1, ops, nsInfo, ordered: true, errorsOnly };
  const reply = (await admin.command(command, { session })) as unknown as BulkReply;
  const results = reply.cursor.firstBatch;
  if (reply.nErrors > 0) throw writeError(results.find(({ ok }) => ok === 0));
  if (reply.nMatched === updates.length) return undefined;
  return results.find(({ n }) => n === 0)?.idx ?? 0;
};

const WRITE_CONFLICT = 112;

/** The error that a single write would reject with. */
const writeError = ({ code, errmsg }: { code?: number; errmsg?: string } = {}): Error =>
  new mongoose.mongo.MongoServerError({
    message: errmsg ?? 'the database rejected a write',
    ...(code === undefined ? {} : { code }),
    ...(code === WRITE_CONFLICT ? { errorLabels: ['TransientTransactionError'] } : {}),
  });
