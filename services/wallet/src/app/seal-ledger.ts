/**
 * Chains what was booked (see domain/seal.ts), batch by batch, after it is committed: a chain that every booking had
 * to lengthen itself would make all of them wait for one another. What other services have booked is told here, too:
 * the entry itself is what commits together with the state, and one write tells of hundreds.
 */
import { type BookedEntry, headText, isIntact, nextSeal, type Seal } from '../domain/seal.ts';
import { announceSealed } from './announce.ts';
import type { WalletDeps } from './deps.ts';

const BATCH = 500;

/**
 * One round: everything that is booked and not sealed. Returns how many entries were sealed. Safe with several
 * replicas and after a crash at any step: a seal's number lets one of them write it, and whoever comes next finishes
 * what the last seal began. Entries whose content is not what was booked are left out, and reported.
 */
export type SealLedger = () => Promise<number>;

type Deps = Pick<WalletDeps, 'store' | 'seals' | 'outbox' | 'clock' | 'log'>;

export const createSealLedger = (deps: Deps, batch = BATCH): SealLedger => {
  const { store, seals, clock, log } = deps;
  const report = createReport(log);
  /** The newest seal that this process knows of. Should another have appended one, the next append says so. */
  let last: Seal | undefined;
  /** Whether the entries of `last` are known to be marked. */
  let isMarked = false;

  const take = async (seal: Seal, entries: readonly BookedEntry[]): Promise<void> => {
    last = seal;
    isMarked = false;
    await mark(deps, seal, entries);
    isMarked = true;
  };

  /** Learns of seals that others have appended, and finishes the newest, whose process may have ended before it did. */
  const catchUp = async (): Promise<void> => {
    const newest = await seals.last(last?.number ?? 0);
    if (newest !== undefined && (newest.number !== last?.number || !isMarked))
      await take(newest, await store.entries.findMany(newest.leaves.map(({ key }) => key)));
  };

  const round = async (): Promise<number> => {
    await catchUp();
    let sealed = 0;
    for (;;) {
      const waiting = await store.entries.unsealed(batch);
      const intact = waiting.filter(isIntact);
      report(waiting.filter((entry) => !intact.includes(entry)));
      if (intact.length === 0) return sealed;
      const seal = nextSeal(last, intact, clock.now());
      // Another replica was faster: it is at work, and this one is not needed.
      if (!(await seals.append(seal))) return sealed;
      await take(seal, intact);
      // A copy of the head that no database holds; the audit takes it as its argument.
      log.info({ head: headText(seal), entries: intact.length }, 'the ledger is sealed');
      sealed += intact.length;
      if (waiting.length < batch) return sealed;
    }
  };

  // One after the other in one process: what a round has read is sealed on top of the seal that it knew then.
  let rounds: Promise<unknown> = Promise.resolve();
  return () => {
    const mine = rounds.then(round);
    rounds = mine.catch(() => undefined);
    return mine;
  };
};

/** Names each entry that cannot be sealed once. */
const createReport = (log: Deps['log']): ((forged: readonly BookedEntry[]) => void) => {
  const reported = new Set<string>();
  return (forged) => {
    const fresh = forged.map(({ key }) => key).filter((key) => !reported.has(key));
    if (fresh.length === 0) return;
    for (const key of fresh) reported.add(key);
    log.error({ entries: fresh }, 'entries of the ledger are not what was booked: run the audit');
  };
};

/** Notes the seal on its entries, all of them or none, and tells of it once, in one transaction. */
const mark = async (deps: Deps, seal: Seal, entries: readonly BookedEntry[]): Promise<void> => {
  const { store } = deps;
  const keys = seal.leaves.map(({ key }) => key);
  const booked = entries.filter(({ kind }) => kind === 'booking').flatMap(({ paymentIds }) => paymentIds);
  await store.transaction(async (session) => {
    if ((await store.entries.markSealed(session, keys, seal.number)) === 0) return;
    const payments = await store.payments.findMany(booked, session);
    await announceSealed(
      deps,
      session,
      seal,
      payments.sort((one, other) => one.id - other.id),
    );
  });
};
