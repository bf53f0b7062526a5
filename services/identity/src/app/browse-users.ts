/** Other people's accounts, as lists and one by one. */
import { type Caller, can, type UserCaller } from '@fitness/shared/caller.ts';
import { forbidden, invalid, message, notFound } from '@fitness/shared/error.ts';
import type { PageOf, PageRequest } from '@fitness/shared/http/pagination.ts';
import { searchQuery } from '../domain/search-text.ts';
import type { User } from '../domain/user.ts';
import type { RoleStore } from '../store/roles.ts';
import type { UserFilter, UserStore } from '../store/users.ts';

interface UserSearch {
  search?: string | undefined;
  isTrainer?: boolean | undefined;
  order?: 'ASC' | 'DESC' | undefined;
  /** Name or id of a role. */
  role?: string | undefined;
}

export interface BrowseUsers {
  /**
   * By id, newest first unless asked otherwise. Without `users.view_all`: no accounts with a pending deletion, no
   * search in e-mail and phone, and 403 for `role`. 422 for an unknown role.
   */
  list(viewer: UserCaller, search: UserSearch, request: PageRequest): Promise<PageOf<User>>;
  /** 404 for an unknown and for an erased one. */
  read(id: number): Promise<User>;
}

export const createBrowseUsers = ({ users, roles }: { users: UserStore; roles: RoleStore }): BrowseUsers => {
  const findRole = async (viewer: Caller, role: string | undefined): Promise<number | undefined> => {
    if (role === undefined) return undefined;
    if (!can(viewer, 'users.view_all')) throw forbidden('role needs users.view_all');
    const found = await (/^\d{1,9}$/.test(role) ? roles.findById(Number(role)) : roles.findByName(role));
    if (found === null) throw invalid({ role: message('validation.unknown') });
    return found._id;
  };

  return {
    list: async (viewer, { search, isTrainer, order, role }, request) => {
      const seesAll = can(viewer, 'users.view_all');
      const filter: UserFilter = {
        search: search === undefined ? undefined : searchQuery(search),
        searchEverything: seesAll,
        isTrainer,
        roleId: await findRole(viewer, role),
        withPending: seesAll,
        ascending: order === 'ASC',
      };
      const found = await users.list(filter, {
        skip: request.mode === 'page' ? request.skip : 0,
        limit: request.perPage + 1,
        afterId: request.mode === 'cursor' ? request.after[0] : undefined,
      });
      const rows = found.slice(0, request.perPage);
      const last = rows.at(-1);
      return {
        rows,
        total: request.mode === 'page' ? await users.count(filter) : undefined,
        next: found.length > rows.length && last !== undefined ? [last._id] : undefined,
      };
    },

    read: async (id) => {
      const user = await users.findById(id);
      if (user === null) throw notFound();
      return user;
    },
  };
};
