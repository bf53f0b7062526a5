import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { assertMaySee } from './payment-resource.ts';

/**
 * Returns the spendable balance in Tooman (specification 2.3, rule 1), by default the caller's. Throws 403 for another user's
 * balance without `payments.view_all`.
 */
export type ShowBalance = (caller: UserCaller, userId: number | undefined) => Promise<number>;

export const createShowBalance =
  ({ store }: Dependencies): ShowBalance =>
  async (caller, userId = caller.userId) => {
    assertMaySee(caller, userId);
    return store.wallets.balance(userId);
  };
