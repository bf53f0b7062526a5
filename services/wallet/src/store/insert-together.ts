/** Documents of several collections in one message to the database. */
import type { ClientSession, Connection } from '@fitness/shared/mongo/connect.ts';
import type { Model } from 'mongoose';

export interface Insert {
  collection: Model<never>['collection'];
  documents: readonly object[];
}

/** Inserts in order, inside the transaction of `session`, which has to have begun. Rejects as single inserts do. */
export type InsertTogether = (session: ClientSession, inserts: readonly Insert[]) => Promise<void>;

/** MongoDB 8 takes writes to several collections in one command. */
const BULK_WRITE_WIRE_VERSION = 25;

export const createInsertTogether = (connection: Connection): InsertTogether => {
  // Asked before the first transaction needs it; who does not answer is not asked again, and written to the longer way.
  const takesBulkWrites = askWireVersion(connection).then(
    (version) => version >= BULK_WRITE_WIRE_VERSION,
    () => false,
  );
  return async (session, inserts) => {
    const filled = inserts.filter(({ documents }) => documents.length > 0);
    if (filled.length > 1 && (await takesBulkWrites)) await bulkWrite(connection, session, filled);
    else for (const insert of filled) await insertMany(session, insert);
  };
};

const askWireVersion = async (connection: Connection): Promise<number> => {
  const hello = await connection.getClient().db('admin').command({ hello: 1 });
  return Number(hello.maxWireVersion);
};

const insertMany = async (session: ClientSession, { collection, documents }: Insert): Promise<void> => {
  const [first] = documents;
  // The driver has a shorter way for one document.
  if (documents.length === 1) await collection.insertOne(first as never, { session });
  else await collection.insertMany([...documents] as never[], { session });
};

const bulkWrite = async (
  connection: Connection,
  session: ClientSession,
  inserts: readonly Insert[],
): Promise<void> => {
  const models = inserts.flatMap(({ collection, documents }) =>
    documents.map((document) => ({
      name: 'insertOne' as const,
      namespace: `${connection.name}.${collection.name}`,
      document,
    })),
  );
  try {
    await connection.getClient().bulkWrite(models, { session, ordered: true });
  } catch (error) {
    throw firstRefusal(error) ?? error;
  }
};

const WRITE_CONFLICT = 112;

/** What the database said of the write that it refused, in the form that a single insert rejects with. */
const firstRefusal = (error: unknown): Error | undefined => {
  const { writeErrors } = error as { writeErrors?: ReadonlyMap<number, { code: number; message: string }> };
  const [refusal] = writeErrors?.values() ?? [];
  if (refusal === undefined) return undefined;
  const labels = refusal.code === WRITE_CONFLICT ? { errorLabels: ['TransientTransactionError'] } : {};
  return Object.assign(new Error(refusal.message, { cause: error }), { code: refusal.code }, labels);
};
