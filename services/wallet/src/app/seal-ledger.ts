/** Seals committed entries. Payments booked by other services are published with the seal, hundreds in one write. */
import type { Seal } from '@fitness/shared/kernel/seal.ts';
import { createSealer } from '@fitness/shared/mongo/sealer.ts';
import type { Dependencies } from '../dependencies.ts';
import { type BookedEntry, isIntact } from '../domain/seal.ts';
import { publishLedgerSealed } from './publish.ts';

/** Runs one round; see `createSealer`. */
export type SealLedger = () => Promise<number>;

type SealDependencies = Pick<Dependencies, 'store' | 'seals' | 'outbox' | 'clock' | 'log'>;

export const createSealLedger = (dependencies: SealDependencies, batch?: number): SealLedger => {
  const { store, seals, clock, log } = dependencies;
  return createSealer<BookedEntry>({
    name: 'the ledger',
    seals,
    records: {
      unsealed: (limit) => store.entries.unsealed(limit),
      findMany: (keys) => store.entries.findMany(keys),
      isIntact,
      mark: (seal, entries) => markEntries(dependencies, seal, entries),
    },
    clock,
    log,
    batch,
  });
};

/** Marks all entries of the seal and publishes it once, in one transaction. */
const markEntries = async (
  { store, outbox }: Pick<Dependencies, 'store' | 'outbox'>,
  seal: Seal,
  entries: readonly BookedEntry[],
): Promise<void> => {
  const keys = seal.leaves.map(({ key }) => key);
  const booked = entries.filter(({ kind }) => kind === 'booking').flatMap(({ paymentIds }) => paymentIds);
  await store.transaction(async (session) => {
    if ((await store.entries.markSealed(session, keys, seal.number)) === 0) return;
    const payments = await store.payments.findMany(booked, session);
    await publishLedgerSealed(
      { outbox },
      session,
      seal,
      payments.sort((one, other) => one.id - other.id),
    );
  });
};
