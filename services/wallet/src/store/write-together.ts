/** Writes to several collections in one message to the database. */
import type { ClientSession, Connection } from '@fitness/shared/mongo/connect.ts';
import type { Model } from 'mongoose';

type Collection = Model<never>['collection'];

/** Changes one document, if there is one that `filter` fits. */
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
  /** Made first, in their order. */
  updates: readonly Update[];
  inserts: readonly Insert[];
}

/**
 * Makes the writes inside the transaction of `session`, whose first command this may be only if it names no read
 * concern. Returns the place of the first update that fitted no document, or undefined: whoever gets one ends the
 * transaction, as other writes may be made already. Rejects as single writes do.
 */
export type WriteTogether = (session: ClientSession, writes: Writes) => Promise<number | undefined>;

/** MongoDB 8 takes writes to several collections in one command. */
const BULK_WRITE_WIRE_VERSION = 25;

/** `wireVersion`: what the server speaks; asked of it unless given. */
export const createWriteTogether = (
  connection: Connection,
  wireVersion: Promise<number> = askWireVersion(connection),
): WriteTogether => {
  // Asked before the first transaction needs it; who does not answer is not asked again, and written to the longer way.
  const takesBulkWrites = wireVersion.then(
    (version) => version >= BULK_WRITE_WIRE_VERSION,
    () => false,
  );
  return async (session, writes) =>
    (await takesBulkWrites) ? bulkWrite(connection, session, writes) : oneByOne(session, writes);
};

const askWireVersion = async (connection: Connection): Promise<number> => {
  const hello = await connection.getClient().db('admin').command({ hello: 1 });
  return Number(hello.maxWireVersion);
};

const oneByOne = async (
  session: ClientSession,
  { updates, inserts }: Writes,
): Promise<number | undefined> => {
  for (const [place, { collection, filter, change }] of updates.entries()) {
    const { matchedCount } = await collection.updateOne(filter, change, { session });
    if (matchedCount === 0) return place;
  }
  for (const { collection, documents } of inserts) {
    if (documents.length > 0) await collection.insertMany([...documents] as never[], { session });
  }
  return undefined;
};

/** What `bulkWrite` answers; source: the manual's page of the command. */
interface BulkAnswer {
  nMatched: number;
  nErrors: number;
  cursor: { firstBatch: { ok: number; idx: number; n?: number; code?: number; errmsg?: string }[] };
}

/** As the command itself: the driver's own `bulkWrite` splits, merges and reads by a cursor what is one small answer. */
const bulkWrite = async (
  connection: Connection,
  session: ClientSession,
  { updates, inserts }: Writes,
): Promise<number | undefined> => {
  const namespaces: string[] = [];
  const indexOf = ({ name }: Collection): number => {
    const namespace = `${connection.name}.${name}`;
    const known = namespaces.indexOf(namespace);
    return known === -1 ? namespaces.push(namespace) - 1 : known;
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
  // A single update is counted by `nMatched`; which of several fitted nothing only their own answers say.
  const errorsOnly = updates.length <= 1;
  const nsInfo = namespaces.map((ns) => ({ ns }));
  const answer = (await connection
    .getClient()
    .db('admin')
    .command({ bulkWrite: 1, ops, nsInfo, ordered: true, errorsOnly }, { session })) as unknown as BulkAnswer;
  const results = answer.cursor.firstBatch;
  if (answer.nErrors > 0) throw refusalOf(results.find(({ ok }) => ok === 0));
  if (answer.nMatched === updates.length) return undefined;
  return results.find(({ n }) => n === 0)?.idx ?? 0;
};

const WRITE_CONFLICT = 112;

/** In the form that a single write rejects with. */
const refusalOf = ({ code, errmsg }: { code?: number; errmsg?: string } = {}): Error => {
  const labels = code === WRITE_CONFLICT ? { errorLabels: ['TransientTransactionError'] } : {};
  return Object.assign(new Error(errmsg ?? 'the database refused a write'), { code }, labels);
};
