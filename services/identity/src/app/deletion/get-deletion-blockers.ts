import { type Caller, can, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import { forbidden, unauthenticated } from '@fitness/shared/kernel/error.ts';
import type { AppliedBlocker } from '../../clients/blockers.ts';
import type { Dependencies } from '../../dependencies.ts';
import { findManageableUser } from '../roles/manageable-user.ts';

/**
 * Returns the blockers that apply to the deletion of the caller's account, in the order of the catalogue. 401: a guest. 403:
 * no `payments.view_own`, because blockers reveal balances and subscriptions.
 */
export type GetDeletionBlockers = (caller: Caller) => Promise<AppliedBlocker[]>;

export const createGetDeletionBlockers =
  ({ blockers }: Dependencies): GetDeletionBlockers =>
  async (caller) => {
    if (caller.kind !== 'user') throw unauthenticated();
    if (!can(caller, 'payments.view_own')) throw forbidden('needs payments.view_own');
    return blockers.evaluate(caller.userId);
  };

/** Returns the blockers of any account to its managers. 404: no such account. 403: the caller may not manage it. */
type GetUserDeletionBlockers = (caller: UserCaller, userId: number) => Promise<AppliedBlocker[]>;

export const createGetUserDeletionBlockers =
  (dependencies: Pick<Dependencies, 'store' | 'blockers'>): GetUserDeletionBlockers =>
  async (caller, userId) => {
    await findManageableUser(dependencies, caller, userId);
    return dependencies.blockers.evaluate(userId);
  };
