/**
 * Chains what was booked (see domain/seal.ts), batch by batch, after it is committed: a chain that every booking had
 * to lengthen itself would make all of them wait for one another. What other services have booked is told here, too:
 * the entry itself is what commits together with the state, and one write tells of hundreds.
 */
import type { Payment } from '../domain/payment.ts';
import { type BookedEntry, headText, isIntact, nextSeal, type Seal } from '../domain/seal.ts';
import { announceBooked } from './announce.ts';
import type { WalletDeps } from './deps.ts';

const BATCH = 500;

/**
 * One round: everything that is booked and not sealed. Returns how many entries were sealed. Safe with several
 * replicas and after a crash at any step: a seal's number lets one of them write it, and whoever comes next finishes
 * what the last seal began. Entries whose content is not what was booked are left out, and reported.
 */
export type SealLedger = () => Promise<number>;

type Deps = Pick<WalletDeps, 'store' | 'seals' | 'outbox' | 'clock' | 'log'>;

export const createSealLedger = (deps: Deps): SealLedger => {
  const { store, seals, clock, log } = deps;
  const reported = new Set<string>();
  /** The newest seal whose entries are known to be marked. */
  let marked = 0;
  const report = (forged: readonly BookedEntry[]): void => {
    const fresh = forged.map(({ key }) => key).filter((key) => !reported.has(key));
    if (fresh.length === 0) return;
    for (const key of fresh) reported.add(key);
    log.error({ entries: fresh }, 'entries of the ledger are not what was booked: run the audit');
  };
  return async () => {
    let sealed = 0;
    for (;;) {
      const last = await seals.last();
      // The last seal may have been written by a process that ended before it marked its entries.
      if (last !== undefined && last.number !== marked) await mark(deps, last);
      marked = last?.number ?? 0;
      const waiting = await store.entries.unsealed(BATCH);
      const intact = waiting.filter(isIntact);
      report(waiting.filter((entry) => !intact.includes(entry)));
      if (intact.length === 0) return sealed;
      const seal = nextSeal(last, intact, clock.now());
      // Another replica was faster: it is at work, and this one is not needed.
      if (!(await seals.append(seal))) return sealed;
      await mark(deps, seal);
      marked = seal.number;
      // A copy of the head that no database holds; the audit takes it as its argument.
      log.info({ head: headText(seal), entries: intact.length }, 'the ledger is sealed');
      sealed += intact.length;
      if (waiting.length < BATCH) return sealed;
    }
  };
};

/** Notes the seal on its entries and tells of those that were not marked yet, in one transaction. */
const mark = async (deps: Deps, seal: Seal): Promise<void> => {
  const { store } = deps;
  const keys = seal.leaves.map(({ key }) => key);
  if ((await store.entries.unsealedAmong(keys)).length === 0) return;
  await store.transaction(async (session) => {
    const fresh = await store.entries.unsealedAmong(keys, session);
    await store.entries.markSealed(
      session,
      fresh.map(({ key }) => key),
      seal.number,
    );
    const told = fresh.filter(({ kind }) => kind === 'booking').flatMap(({ paymentIds }) => paymentIds);
    for (const payment of await ordered(deps, told, session)) await announceBooked(deps, session, payment);
  });
};

const ordered = async (
  { store }: Deps,
  ids: readonly number[],
  session: Parameters<Deps['store']['payments']['findMany']>[1],
): Promise<Payment[]> => {
  const found = await store.payments.findMany(ids, session);
  return found.sort((one, other) => one.id - other.id);
};
