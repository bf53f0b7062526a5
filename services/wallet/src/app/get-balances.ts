import type { Dependencies } from '../dependencies.ts';

/** Spendable balances in Tooman, in the order of the ids; 0 for a user without a wallet. */
export type GetBalances = (userIds: readonly number[]) => Promise<{ userId: number; balance: number }[]>;

export const createGetBalances =
  ({ store }: Pick<Dependencies, 'store'>): GetBalances =>
  async (userIds) => {
    const balances = await store.wallets.balances(userIds);
    return [...balances].map(([userId, balance]) => ({ userId, balance }));
  };
