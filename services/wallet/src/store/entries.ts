/** The ledger entries. Only their seal number ever changes. */
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import type { Account, LedgerEntry } from '../domain/ledger.ts';
import { type BookedEntry, entryHash } from '../domain/seal.ts';
import type { Insert } from './bulk-write.ts';
import type { EntryDocument, Models } from './models.ts';

export interface Entries {
  /** The insert of an entry. It fails as a duplicate when the key is already booked. */
  insertOf(entry: LedgerEntry, bookedAt: Date): Insert;
  find(key: string, session?: ClientSession): Promise<BookedEntry | undefined>;
  findMany(keys: readonly string[], session?: ClientSession): Promise<BookedEntry[]>;
  /** At most `limit` entries without a seal. */
  unsealed(limit: number): Promise<BookedEntry[]>;
  countUnsealed(): Promise<number>;
  /** An estimate for the progress of the audit: the database's count may be off after a crash. */
  estimate(): Promise<number>;
  /** Marks the entries of `keys` that have no seal yet with this one. Returns their number. */
  markSealed(session: ClientSession, keys: readonly string[], seal: number): Promise<number>;
  /** Entries marked with this seal. */
  ofSeal(seal: number, session: ClientSession): Promise<BookedEntry[]>;
  /** Ordered by key, after `key`; for the audit. */
  after(key: string, limit: number, session: ClientSession): Promise<BookedEntry[]>;
  /** Every entry that books or settles one of these payments. */
  ofPayments(paymentIds: readonly number[], session: ClientSession): Promise<BookedEntry[]>;
}

const fromDocument = (document: EntryDocument): BookedEntry => ({
  key: document._id,
  kind: document.kind,
  inputHash: document.input_hash,
  rows: document.rows.map(({ account, amount }) => ({ account: account as Account, amount })),
  paymentIds: document.payment_ids,
  bookedAt: document.booked_at,
  hash: document.hash,
  seal: document.seal,
});

const oneOf = (values: readonly (string | number)[]) => trusted({ $in: [...values] as never[] });

export const createEntries = ({ entries }: Models): Entries => {
  const many = async (
    query: Record<string, unknown>,
    session?: ClientSession,
    limit = 0,
  ): Promise<BookedEntry[]> => {
    const documents = await entries
      .find(query)
      .limit(limit)
      .session(session ?? null)
      .lean<EntryDocument[]>();
    return documents.map(fromDocument);
  };
  return {
    insertOf: (entry, bookedAt) => {
      const document: EntryDocument = {
        _id: entry.key,
        kind: entry.kind,
        input_hash: entry.inputHash,
        rows: [...entry.rows],
        payment_ids: [...entry.paymentIds],
        booked_at: bookedAt,
        hash: entryHash(entry, bookedAt),
        seal: null,
      };
      return { collection: entries.collection, documents: [document] };
    },
    find: async (key, session) => (await many({ _id: key }, session))[0],
    findMany: (keys, session) => many({ _id: oneOf(keys) }, session),
    unsealed: (limit) => many({ seal: null }, undefined, limit),
    countUnsealed: () => entries.countDocuments({ seal: null }),
    estimate: () => entries.estimatedDocumentCount(),
    markSealed: async (session, keys, seal) => {
      const marked = await entries.updateMany(
        { _id: oneOf(keys), seal: null },
        { $set: { seal } },
        { session },
      );
      return marked.modifiedCount;
    },
    ofSeal: (seal, session) => many({ seal }, session),
    after: async (key, limit, session) => {
      const documents = await entries
        .find({ _id: trusted({ $gt: key }) }, null, { session })
        .sort({ _id: 1 })
        .limit(limit)
        .lean<EntryDocument[]>();
      return documents.map(fromDocument);
    },
    ofPayments: (paymentIds, session) => many({ payment_ids: oneOf(paymentIds) }, session),
  };
};
