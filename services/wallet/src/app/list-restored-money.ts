/**
 * Lists the money that operators may have moved since a backup was made. The restored database cannot know about it.
 */
import type { Dependencies } from '../dependencies.ts';
import type { Payout } from '../domain/journal.ts';
import type { Payment } from '../domain/payment.ts';

const PER_PAGE = 100;

export interface RestoredMoney {
  /** May have been paid at the bank since the backup. `paidAt` is when an operator recorded the transfer, or null. */
  openWithdrawals: (Pick<Payment, 'id' | 'userId' | 'amount' | 'createdAt'> & { paidAt: Date | null })[];
  /** Requested and paid since the backup, so the restored balances still contain this money. */
  lostPayouts: Payout[];
  /** Accounts are erased only without a balance, so this money was spent or withdrawn since the backup. */
  erasedWithBalance: { userId: number; balance: number }[];
  /** Number of disputed deposits in the backup. Operators may have resolved some of them since. */
  openDisputes: number;
}

const keyOf = (paymentId: number, requestedAt: Date): string => `${paymentId} ${requestedAt.getTime()}`;

export const createListRestoredMoney =
  ({ store, clock, payoutJournal }: Dependencies) =>
  async (): Promise<RestoredMoney> => {
    const openWithdrawals: Payment[] = [];
    const filter = { type: 'withdrawal', isDone: false, rejected: false, order: 'ASC' } as const;
    for (let after: readonly number[] | undefined = [0]; after !== undefined; ) {
      const page = await store.payments.page(filter, { mode: 'cursor', perPage: PER_PAGE, after });
      openWithdrawals.push(...page.rows);
      after = page.next;
    }
    const payouts = new Map<string, Payout>();
    for await (const { content } of payoutJournal.entries('begun'))
      payouts.set(keyOf(content.payment_id, content.requested_at), content);
    const lostPayouts: Payout[] = [];
    for (const payout of payouts.values()) {
      const payment = await store.payments.find(payout.payment_id);
      if (payment?.createdAt.getTime() !== payout.requested_at.getTime()) lostPayouts.push(payout);
    }
    return {
      openWithdrawals: openWithdrawals.map(({ id, userId, amount, createdAt }) => ({
        id,
        userId,
        amount,
        createdAt,
        paidAt: payouts.get(keyOf(id, createdAt))?.paid_at ?? null,
      })),
      lostPayouts,
      erasedWithBalance: await store.wallets.erasedWithBalance(),
      openDisputes: (await store.payments.waiting(clock.now())).dispute.count,
    };
  };
