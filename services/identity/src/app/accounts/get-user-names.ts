import { can, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { User } from '../../domain/user.ts';

export const NAMES_MAX = 100;

/** The accounts with these ids, newest first. Pending ones are left out for viewers without `users.view_all`, as in lists. */
type GetUserNames = (viewer: UserCaller, ids: readonly number[]) => Promise<User[]>;

export const createGetUserNames =
  ({ store }: Pick<Dependencies, 'store'>): GetUserNames =>
  async (viewer, ids) => {
    const users = await store.users.findMany(ids);
    const isShown = ({ deletion_scheduled_at: at }: User): boolean =>
      at === null || can(viewer, 'users.view_all');
    return users.filter(isShown).sort((one, other) => other._id - one._id);
  };
