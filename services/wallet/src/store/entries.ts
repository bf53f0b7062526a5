/** The ledger: what is written here is never changed, but for the number of its seal. */
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import type { Account, LedgerEntry } from '../domain/ledger.ts';
import { type BookedEntry, entryHash } from '../domain/seal.ts';
import type { EntryDocument, Models } from './models.ts';
import type { Insert } from './write-together.ts';

export interface Entries {
  /** The document of an entry; its insert is refused as a duplicate when the entry's key was booked before. */
  insertOf(entry: LedgerEntry, bookedAt: Date): Insert;
  find(key: string, session?: ClientSession): Promise<BookedEntry | undefined>;
  findMany(keys: readonly string[], session?: ClientSession): Promise<BookedEntry[]>;
  /** At most `limit` of those that are not sealed. */
  unsealed(limit: number): Promise<BookedEntry[]>;
  countUnsealed(): Promise<number>;
  /** Notes the seal on those of `keys` that have none; how many these were. */
  markSealed(session: ClientSession, keys: readonly string[], seal: number): Promise<number>;
  /** Those that say that they are in this seal. */
  ofSeal(seal: number, session: ClientSession): Promise<BookedEntry[]>;
  /** By key, from the one after `key` on; for the auditor. */
  after(key: string, limit: number, session: ClientSession): Promise<BookedEntry[]>;
  /** All that book or settle one of these payments. */
  ofPayments(paymentIds: readonly number[], session: ClientSession): Promise<BookedEntry[]>;
}

const toEntry = (found: EntryDocument): BookedEntry => ({
  key: found._id,
  kind: found.kind,
  inputHash: found.input_hash,
  rows: found.rows.map(({ account, amount }) => ({ account: account as Account, amount })),
  paymentIds: found.payment_ids,
  bookedAt: found.booked_at,
  hash: found.hash,
  seal: found.seal,
});

const among = (values: readonly (string | number)[]) => trusted({ $in: [...values] as never[] });

export const createEntries = ({ entries }: Models): Entries => {
  const many = async (
    query: Record<string, unknown>,
    session?: ClientSession,
    limit = 0,
  ): Promise<BookedEntry[]> => {
    const found = await entries
      .find(query)
      .limit(limit)
      .session(session ?? null)
      .lean<EntryDocument[]>();
    return found.map(toEntry);
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
    findMany: (keys, session) => many({ _id: among(keys) }, session),
    unsealed: (limit) => many({ seal: null }, undefined, limit),
    countUnsealed: () => entries.countDocuments({ seal: null }),
    markSealed: async (session, keys, seal) => {
      const marked = await entries.updateMany(
        { _id: among(keys), seal: null },
        { $set: { seal } },
        { session },
      );
      return marked.modifiedCount;
    },
    ofSeal: (seal, session) => many({ seal }, session),
    after: async (key, limit, session) => {
      const found = await entries
        .find({ _id: trusted({ $gt: key }) }, null, { session })
        .sort({ _id: 1 })
        .limit(limit)
        .lean<EntryDocument[]>();
      return found.map(toEntry);
    },
    ofPayments: (paymentIds, session) => many({ payment_ids: among(paymentIds) }, session),
  };
};
