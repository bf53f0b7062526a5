import { type Caller, can } from '@fitness/shared/kernel/caller.ts';
import { forbidden, unauthenticated } from '@fitness/shared/kernel/error.ts';
import type { AppliedBlocker } from '../../clients/blockers.ts';
import type { Dependencies } from '../../dependencies.ts';

/**
 * The blockers that apply to the deletion of the caller's account, in the order of the catalogue. 401 for a guest; 403
 * without `payments.view_own`, because blockers reveal balances and subscriptions.
 */
export type GetDeletionBlockers = (caller: Caller) => Promise<AppliedBlocker[]>;

export const createGetDeletionBlockers =
  ({ blockers }: Pick<Dependencies, 'blockers'>): GetDeletionBlockers =>
  async (caller) => {
    if (caller.kind !== 'user') throw unauthenticated();
    if (!can(caller, 'payments.view_own')) throw forbidden('needs payments.view_own');
    return blockers.evaluate(caller.userId);
  };
