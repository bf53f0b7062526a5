import { erasedUser, type UserResource } from '@fitness/contracts/user.ts';
import type { Caller } from '@fitness/shared/kernel/caller.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { PresentUsers } from './user-resource.ts';

/**
 * Returns the resources that other services embed, each as `viewer` may see it. Unknown ids are missing. With `withErased`,
 * an anonymous placeholder represents an erased account; otherwise it is missing. With `withoutPending`, accounts with a
 * pending deletion are missing.
 */
export type ShowUsers = (
  ids: readonly number[],
  viewer: Caller,
  options: { withErased: boolean; withoutPending: boolean },
) => Promise<UserResource[]>;

export const createShowUsers =
  ({ store, presentUsers }: Dependencies & { presentUsers: PresentUsers }): ShowUsers =>
  async (ids, viewer, { withErased, withoutPending }) => {
    const live = await store.users.findMany(ids);
    const users = withoutPending ? live.filter((user) => user.deletion_scheduled_at === null) : live;
    const shown = await presentUsers(users, viewer);
    const erased = withErased ? await store.users.findErased(ids) : [];
    return [...shown, ...erased.map((row) => erasedUser(row._id, formatTimestamp(row.created_at)))];
  };
