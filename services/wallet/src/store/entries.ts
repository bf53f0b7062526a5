/** The ledger: what is written here is never changed. */
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Account, LedgerEntry } from '../domain/ledger.ts';
import type { EntryDocument, Models } from './models.ts';

export interface Entries {
  /** Rejects with a duplicate key when the entry's key was booked before. */
  insert(session: ClientSession, entry: LedgerEntry, bookedAt: Date): Promise<void>;
  find(key: string, session?: ClientSession): Promise<LedgerEntry | undefined>;
  /** All of them, for the auditor. */
  scan(session: ClientSession): AsyncIterable<LedgerEntry>;
}

const toEntry = (found: EntryDocument): LedgerEntry => ({
  key: found._id,
  kind: found.kind,
  inputHash: found.input_hash,
  rows: found.rows.map(({ account, amount }) => ({ account: account as Account, amount })),
  paymentIds: found.payment_ids,
});

export const createEntries = ({ entries }: Models): Entries => ({
  insert: async (session, entry, bookedAt) => {
    const document: EntryDocument = {
      _id: entry.key,
      kind: entry.kind,
      input_hash: entry.inputHash,
      rows: [...entry.rows],
      payment_ids: [...entry.paymentIds],
      booked_at: bookedAt,
    };
    await entries.insertMany([document], { session });
  },
  find: async (key, session) => {
    const found = await entries
      .findById(key)
      .session(session ?? null)
      .lean<EntryDocument>();
    return found === null ? undefined : toEntry(found);
  },
  scan: async function* (session) {
    for await (const found of entries.find({}, null, { session }).lean<EntryDocument[]>().cursor())
      yield toEntry(found as EntryDocument);
  },
});
