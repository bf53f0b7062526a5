/**
 * Seals committed records batch by batch (kernel/seal.ts). If every transaction extended the chain itself, all of them
 * would wait for each other.
 */
import type { Clock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/log.ts';
import { headText, nextSeal, type Seal, type SealedRecord } from '../kernel/seal.ts';
import type { Seals } from './seals.ts';

const BATCH = 500;

/** The records that are sealed. */
interface SealableRecords<Entry extends SealedRecord> {
  /** At most `limit` records without a seal. */
  unsealed(limit: number): Promise<Entry[]>;
  findMany(keys: readonly string[]): Promise<Entry[]>;
  /** Whether the record has the hash of its content. */
  isIntact(entry: Entry): boolean;
  /** Marks the records of the seal that have no mark, in one transaction. `entries`: the records of the seal. */
  mark(seal: Seal, entries: readonly Entry[]): Promise<void>;
}

export interface SealerOptions<Entry extends SealedRecord> {
  /** The name for the log, such as `the ledger`. */
  name: string;
  seals: Seals;
  records: SealableRecords<Entry>;
  clock: Clock;
  log: Logger;
  batch?: number | undefined;
}

/**
 * Makes one round: seals all stored records without a seal, and returns their number. Safe with
 * several replicas and after a crash at any step: one replica can write a seal number, and the next round completes the
 * last seal. Records that were changed are left out and logged.
 */
export const createSealer = <Entry extends SealedRecord>({
  name,
  seals,
  records,
  clock,
  log,
  batch = BATCH,
}: SealerOptions<Entry>): (() => Promise<number>) => {
  /** Keys of records that were changed after their commit. */
  const changed = new Set<string>();
  const addChanged = (entries: readonly Entry[]): void => {
    const newlyChanged = entries.map(({ key }) => key).filter((key) => !changed.has(key));
    if (newlyChanged.length === 0) return;
    for (const key of newlyChanged) changed.add(key);
    log.error({ entries: newlyChanged }, `entries of ${name} were changed after their commit: run the audit`);
  };
  /** The newest seal known to this process. The append fails when another process has written a newer one. */
  let last: Seal | undefined;
  /** Whether the records of `last` are known to be marked. */
  let isMarked = false;

  const complete = async (seal: Seal, entries: readonly Entry[]): Promise<void> => {
    last = seal;
    isMarked = false;
    await records.mark(seal, entries);
    isMarked = true;
  };

  /** Reads seals of other processes and completes the newest, whose process may have crashed. */
  const catchUp = async (): Promise<void> => {
    const newest = await seals.newest(last?.number ?? 0);
    if (newest !== undefined && (newest.number !== last?.number || !isMarked))
      await complete(newest, await records.findMany(newest.leaves.map(({ key }) => key)));
  };

  const round = async (): Promise<number> => {
    await catchUp();
    let sealed = 0;
    for (;;) {
      // Changed records are never sealed. The limit leaves room for a whole batch of others.
      const limit = batch + changed.size;
      const waiting = await records.unsealed(limit);
      const intact = waiting.filter((entry) => records.isIntact(entry));
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
      log.info({ head: headText(seal), entries: next.length }, `${name} is sealed`);
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
