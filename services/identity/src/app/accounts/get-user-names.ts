import { can, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { User } from '../../domain/user.ts';

export const NAMES_MAX = 100;

/** Returns these accounts, newest first. As in lists, pending ones are shown only to viewers with `users.view_all`. */
type GetUserNames = (viewer: UserCaller, ids: readonly number[]) => Promise<User[]>;

export const createGetUserNames =
  ({ store }: Dependencies): GetUserNames =>
  async (viewer, ids) => {
    const users = await store.users.findMany(ids);
    const isShown = ({ deletion_scheduled_at: at }: User): boolean =>
      at === null || can(viewer, 'users.view_all');
    return users.filter(isShown).sort((one, other) => other._id - one._id);
  };
