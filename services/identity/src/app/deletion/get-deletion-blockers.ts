import { type Caller, can, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import { forbidden, unauthenticated } from '@fitness/shared/kernel/error.ts';
import type { AppliedBlocker } from '../../clients/blockers.ts';
import type { Dependencies } from '../../dependencies.ts';
import { findManageableUser } from '../roles/manageable-user.ts';

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

/** Those of any account, for operators who may delete it: 404; 403 for an account that the caller may not manage. */
type GetUserDeletionBlockers = (caller: UserCaller, userId: number) => Promise<AppliedBlocker[]>;

export const createGetUserDeletionBlockers =
  (dependencies: Pick<Dependencies, 'store' | 'blockers'>): GetUserDeletionBlockers =>
  async (caller, userId) => {
    await findManageableUser(dependencies, caller, userId);
    return dependencies.blockers.evaluate(userId);
  };
