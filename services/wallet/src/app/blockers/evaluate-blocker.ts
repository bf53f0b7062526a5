import { notFound } from '@fitness/shared/error.ts';
import type { WalletDeps } from '../deps.ts';
import { pendingWithdrawal } from './pending-withdrawal.ts';
import { unsettledBalance } from './unsettled-balance.ts';

/** Throws `not_found` for a code that the wallet does not own. `extras` are empty when nothing stands in the way. */
export type EvaluateBlocker = (
  userId: number,
  code: string,
) => Promise<{ applies: boolean; extras: Record<string, unknown> }>;

export const createEvaluateBlocker = (deps: Pick<WalletDeps, 'store'>): EvaluateBlocker => {
  const blockers = [unsettledBalance(deps), pendingWithdrawal(deps)];
  return async (userId, code) => {
    const blocker = blockers.find((known) => known.code === code);
    if (blocker === undefined) throw notFound('not_found', `the wallet owns no blocker ${code}`);
    const extras = await blocker.evaluate(userId);
    return { applies: extras !== undefined, extras: extras ?? {} };
  };
};
