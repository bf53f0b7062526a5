import type { UserCaller } from '@fitness/shared/caller.ts';
import { forbidden } from '@fitness/shared/error.ts';
import type { WalletDeps } from './deps.ts';
import { maySee } from './payment-resource.ts';

/** The spendable balance in Tooman (specification 2.3, rule 1). Throws 403 for somebody else's. */
export type ShowBalance = (caller: UserCaller, userId: number | undefined) => Promise<number>;

export const createShowBalance =
  ({ store }: Pick<WalletDeps, 'store'>): ShowBalance =>
  async (caller, asked) => {
    const userId = asked ?? caller.userId;
    if (!maySee(caller, userId)) throw forbidden('balance of another user');
    return (await store.wallets.balances([userId])).get(userId) ?? 0;
  };
