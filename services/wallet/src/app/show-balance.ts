import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { assertMaySee } from './payment-resource.ts';

/** The spendable balance in Tooman (specification 2.3, rule 1), by default the caller's. 403 for another user's. */
export type ShowBalance = (caller: UserCaller, userId: number | undefined) => Promise<number>;

export const createShowBalance =
  ({ store }: Pick<Dependencies, 'store'>): ShowBalance =>
  async (caller, userId = caller.userId) => {
    assertMaySee(caller, userId);
    return store.wallets.balance(userId);
  };
