/**
 * Money of an erased account belongs to nobody who could use it. What such an account was credited is taken out of its balance and
 * disputed, so that operators find it and return it (docs/adr/0039).
 */
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { heldRows } from '../domain/booking.ts';
import { createEntry, type LedgerEntry, walletAccount } from '../domain/ledger.ts';
import type { Payment } from '../domain/payment.ts';

/** Logged for every payment that is disputed because its account is erased. */
export const ERASED_CREDIT = 'an erased account was credited; return the money to its payer';

export const heldKey = (creditId: number): string => `held:${creditId}`;

/** The amount that an entry adds to the balance of a user. */
const creditOf = ({ rows }: LedgerEntry, userId: number): number =>
  rows.find(({ account }) => account === walletAccount(userId))?.amount ?? 0;

/**
 * Takes out what `entry` has credited to an erased account: the payments of the account in it are no longer done. Nothing is held of an
 * income that its commission has used up.
 */
export const holdCredit = async (
  { store }: Pick<Dependencies, 'store'>,
  session: ClientSession,
  credit: Payment,
  entry: LedgerEntry,
): Promise<void> => {
  const { id, userId } = credit;
  const amount = creditOf(entry, userId);
  if (amount <= 0) return;
  const payments = (await store.payments.findMany(entry.paymentIds, session)).filter(
    (payment) => payment.userId === userId,
  );
  const held = createEntry({
    key: heldKey(id),
    kind: 'held',
    rows: heldRows(userId, amount),
    paymentIds: payments.map((payment) => payment.id),
  });
  await store.post(session, held);
  await store.payments.holdPayments(session, payments);
};

/**
 * Holds what was credited before the wallet heard of the erasure: the newest credits that make up the balance. A balance that
 * contains no whole credit stays, and the audit names it. The balance of an account that a restore has erased again stays, too.
 */
export type HoldCredits = () => Promise<void>;

export const createHoldCredits =
  ({ store, log }: Pick<Dependencies, 'store' | 'log'>): HoldCredits =>
  async () => {
    for (const { userId } of await store.wallets.erasedWithBalance()) {
      try {
        const held = await store.transaction((session) => holdBalance({ store }, session, userId));
        if (held.length > 0) log.error({ payment_ids: held }, ERASED_CREDIT);
      } catch (error) {
        // The next round tries again; the deposits of others must not wait for it.
        log.warn({ err: error, user_id: userId }, 'the credits of an erased account could not be held yet');
      }
    }
  };

const holdBalance = async (
  { store }: Pick<Dependencies, 'store'>,
  session: ClientSession,
  userId: number,
): Promise<number[]> => {
  const wallet = await store.wallets.find(session, userId);
  // The backup lacks how this balance was spent or withdrawn, so there is nothing to return.
  let rest = wallet === undefined || wallet.isErasureRepeated ? 0 : wallet.balance;
  const credits = rest === 0 ? [] : await store.payments.newestCredits(session, userId);
  const entries = await store.entries.ofPayments(
    credits.map(({ id }) => id),
    session,
  );
  const held: number[] = [];
  for (const credit of credits) {
    const entry = entries.find(
      ({ kind, paymentIds }) => (kind === 'booking' || kind === 'deposit') && paymentIds.includes(credit.id),
    );
    const amount = entry === undefined ? 0 : creditOf(entry, userId);
    if (entry === undefined || amount <= 0) continue;
    // It was spent in part, and the older ones completely.
    if (amount > rest) break;
    await holdCredit({ store }, session, credit, entry);
    rest -= amount;
    held.push(credit.id);
  }
  return held;
};
