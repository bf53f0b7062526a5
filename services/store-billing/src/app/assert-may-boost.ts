import { can, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { AppError } from '@fitness/shared/kernel/error.ts';
import { missingPermission } from '@fitness/shared/kernel/missing-permission.ts';
import { currentTrace } from '@fitness/shared/kernel/trace.ts';
import type { Targets } from '../clients/targets.ts';
import type { Target } from '../domain/target.ts';

/**
 * Callers may boost their own targets, or any target with `payments.boost_all`. Throws `notFound()` for a target that does
 * not exist or is another user's and inactive; otherwise 403. Returns the target, marked if an operator boosts it for
 * another user.
 */
export const assertMayBoost = async (
  targets: Targets,
  caller: UserCaller,
  target: Target,
  notFound: () => AppError,
): Promise<Target> => {
  const existing = await targets.find(target);
  if (existing === undefined) throw notFound();
  const isOwner = existing.ownerId === caller.userId;
  const byOperator = { requestId: currentTrace()?.requestId ?? null };
  if (can(caller, 'payments.boost_all')) return isOwner ? target : { ...target, byOperator };
  if (isOwner && can(caller, 'payments.boost_own')) return target;
  if (!existing.isActive) throw notFound();
  const permissions = isOwner
    ? (['payments.boost_own', 'payments.boost_all'] as const)
    : (['payments.boost_all'] as const);
  throw missingPermission(caller, { permissions });
};
