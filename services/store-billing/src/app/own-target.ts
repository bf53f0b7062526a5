import { can, type UserCaller } from '@fitness/shared/caller.ts';
import { type AppError, forbidden } from '@fitness/shared/error.ts';
import type { Targets } from '../clients/targets.ts';
import type { Target } from '../domain/target.ts';

/**
 * Whether the caller may boost this target: his own, or any with `payments.boost_all`. Throws `missing` for one that
 * does not exist (or that he cannot know of, being inactive and another's), 403 for one that is not his.
 */
export const assertOwnTarget = async (
  targets: Targets,
  caller: UserCaller,
  target: Target,
  missing: () => AppError,
): Promise<void> => {
  const found = await targets.find(target);
  if (found === undefined) throw missing();
  if (can(caller, 'payments.boost_all')) return;
  if (found.ownerId === caller.userId && can(caller, 'payments.boost_own')) return;
  throw found.isActive ? forbidden(`not the owner of ${target.type} ${target.id}`) : missing();
};
