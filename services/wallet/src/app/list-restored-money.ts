/**
 * After a restore of a backup: the money that somebody may have moved since, which the database cannot know. Deposits that were open
 * need nobody: the sweep asks the bank gateway for them as always.
 */
import type { Dependencies } from '../dependencies.ts';
import type { Payment } from '../domain/payment.ts';

const PER_PAGE = 100;

export interface RestoredMoney {
  /** They may have been paid at the bank since. */
  openWithdrawals: Pick<Payment, 'id' | 'userId' | 'amount' | 'createdAt'>[];
  /** They had no balance when they were erased, so that it was spent or withdrawn since the backup. */
  erasedWithBalance: { userId: number; balance: number }[];
  /** Of the newest payment of the backup; null without one. */
  newest: Date | null;
}

export const createListRestoredMoney =
  ({ store }: Pick<Dependencies, 'store'>) =>
  async (): Promise<RestoredMoney> => {
    const openWithdrawals: Payment[] = [];
    const filter = { type: 'withdrawal', isDone: false, rejected: false, order: 'ASC' } as const;
    for (let after: readonly number[] | undefined = [0]; after !== undefined; ) {
      const page = await store.payments.page(filter, { mode: 'cursor', perPage: PER_PAGE, after });
      openWithdrawals.push(...page.rows);
      after = page.next;
    }
    const first = { mode: 'page', page: 1, perPage: 1, skip: 0 } as const;
    const [newest] = (await store.payments.page({ order: 'DESC' }, first)).rows;
    return {
      openWithdrawals: openWithdrawals.map(({ id, userId, amount, createdAt }) => ({
        id,
        userId,
        amount,
        createdAt,
      })),
      erasedWithBalance: await store.wallets.erasedWithBalance(),
      newest: newest?.createdAt ?? null,
    };
  };
