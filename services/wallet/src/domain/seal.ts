/** What the ledger's hash chain covers of an entry. */
import { hashOf, type SealedRecord } from '@fitness/shared/kernel/seal.ts';
import type { LedgerEntry } from './ledger.ts';

/** A stored entry. `hash` is the hash of its content when it was booked. */
export interface BookedEntry extends LedgerEntry, SealedRecord {
  bookedAt: Date;
}

/** Covers every field that never changes after the booking. */
export const entryHash = (entry: LedgerEntry, bookedAt: Date): string =>
  hashOf([
    entry.key,
    entry.kind,
    entry.inputHash,
    entry.rows.map(({ account, amount }) => [account, amount]),
    entry.paymentIds,
    bookedAt.toISOString(),
  ]);

export const isIntact = (entry: BookedEntry): boolean => entryHash(entry, entry.bookedAt) === entry.hash;
