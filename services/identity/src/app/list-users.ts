import { can, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import { invalid, message } from '@fitness/shared/kernel/error.ts';
import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import type { Dependencies } from '../dependencies.ts';
import { contactQuery, searchQuery } from '../domain/search-text.ts';
import type { User } from '../domain/user.ts';
import type { UserFilter } from '../store/users.ts';

interface UserSearch {
  search?: string | undefined;
  isTrainer?: boolean | undefined;
  order?: 'ASC' | 'DESC' | undefined;
  /** Name or id of a role. */
  role?: string | undefined;
  /** Only accounts with a pending deletion. */
  deletionPending?: boolean | undefined;
}

/**
 * By id, newest first by default. Without `users.view_all`, which the route requires for `role` and `deletionPending`:
 * accounts with a pending deletion are left out, and e-mail and phone are not searched. 422 for an unknown role.
 */
type ListUsers = (viewer: UserCaller, search: UserSearch, request: PageRequest) => Promise<PageOf<User>>;

const standingsOf = (viewsAll: boolean, deletionPending: boolean | undefined): UserFilter['standings'] => {
  if (!viewsAll || deletionPending === false) return ['live'];
  return deletionPending === true ? ['pending'] : ['live', 'pending'];
};

export const createListUsers = ({ store }: Pick<Dependencies, 'store'>): ListUsers => {
  const findRoleId = async (role: string | undefined): Promise<number | undefined> => {
    if (role === undefined) return undefined;
    const found = await (/^\d{1,9}$/.test(role)
      ? store.roles.find(Number(role))
      : store.roles.findByName(role));
    if (found === null) throw invalid({ role: message('validation.unknown') });
    return found._id;
  };

  return async (viewer, { search, isTrainer, order, role, deletionPending }, request) => {
    const viewsAll = can(viewer, 'users.view_all');
    const filter: UserFilter = {
      search: search === undefined ? undefined : (viewsAll ? contactQuery : searchQuery)(search),
      searchEverything: viewsAll,
      isTrainer,
      roleId: await findRoleId(role),
      standings: standingsOf(viewsAll, deletionPending),
      ascending: order === 'ASC',
    };
    const found = await store.users.list(filter, {
      skip: request.mode === 'page' ? request.skip : 0,
      limit: request.perPage + 1,
      afterId: request.mode === 'cursor' ? request.after[0] : undefined,
    });
    const rows = found.slice(0, request.perPage);
    const last = rows.at(-1);
    return {
      rows,
      total: request.mode === 'page' ? await store.users.count(filter) : undefined,
      next: found.length > rows.length && last !== undefined ? [last._id] : undefined,
    };
  };
};
