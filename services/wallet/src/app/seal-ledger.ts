/**
 * Seals committed entries batch by batch (domain/seal.ts). If every booking extended the chain itself, all bookings
 * would wait for each other. Payments booked by other services are published with the seal, hundreds in one write.
 */
import type { Dependencies } from '../dependencies.ts';
import { type BookedEntry, headText, isIntact, nextSeal, type Seal } from '../domain/seal.ts';
import { publishLedgerSealed } from './publish.ts';

const BATCH = 500;

/**
 * One round: seals everything booked and not sealed, and returns the number of sealed entries. Safe with several
 * replicas and after a crash at any step: one replica can write a seal number, and the next round completes the last
 * seal. Entries that were changed after their booking are left out and logged.
 */
export type SealLedger = () => Promise<number>;

type SealDependencies = Pick<Dependencies, 'store' | 'seals' | 'outbox' | 'clock' | 'log'>;

export const createSealLedger = (dependencies: SealDependencies, batch = BATCH): SealLedger => {
  const { store, seals, clock, log } = dependencies;
  /** Keys of entries that were changed after their booking. */
  const changed = new Set<string>();
  const addChanged = (entries: readonly BookedEntry[]): void => {
    const found = entries.map(({ key }) => key).filter((key) => !changed.has(key));
    if (found.length === 0) return;
    for (const key of found) changed.add(key);
    log.error({ entries: found }, 'ledger entries were changed after their booking: run the audit');
  };
  /** The newest seal known to this process. The append fails when another process has written a newer one. */
  let last: Seal | undefined;
  /** Whether the entries of `last` are known to be marked. */
  let isMarked = false;

  const complete = async (seal: Seal, entries: readonly BookedEntry[]): Promise<void> => {
    last = seal;
    isMarked = false;
    await markEntries(dependencies, seal, entries);
    isMarked = true;
  };

  /** Reads seals of other processes and completes the newest, whose process may have crashed. */
  const catchUp = async (): Promise<void> => {
    const newest = await seals.newest(last?.number ?? 0);
    if (newest !== undefined && (newest.number !== last?.number || !isMarked))
      await complete(newest, await store.entries.findMany(newest.leaves.map(({ key }) => key)));
  };

  const round = async (): Promise<number> => {
    await catchUp();
    let sealed = 0;
    for (;;) {
      // The changed ones are never sealed: however many they are, a whole batch of others is read beside them.
      const limit = batch + changed.size;
      const waiting = await store.entries.unsealed(limit);
      const intact = waiting.filter(isIntact);
      addChanged(waiting.filter((entry) => !intact.includes(entry)));
      const isLast = waiting.length < limit && intact.length <= batch;
      if (intact.length === 0 && isLast) return sealed;
      if (intact.length === 0) continue;
      const next = intact.slice(0, batch);
      const seal = nextSeal(last, next, clock.now());
      // Another replica is sealing.
      if (!(await seals.append(seal))) return sealed;
      await complete(seal, next);
      // A copy of the head outside the databases; the audit takes it as its argument.
      log.info({ head: headText(seal), entries: next.length }, 'the ledger is sealed');
      sealed += next.length;
      if (isLast) return sealed;
    }
  };

  // Rounds of one process run one after the other: they share `last`.
  let rounds: Promise<unknown> = Promise.resolve();
  return () => {
    const current = rounds.then(round);
    rounds = current.catch(() => undefined);
    return current;
  };
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
