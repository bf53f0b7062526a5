import { can, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import { invalid, message } from '@fitness/shared/kernel/error.ts';
import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import type { Dependencies } from '../../dependencies.ts';
import { contactSearch, nameSearch } from '../../domain/search-text.ts';
import type { User } from '../../domain/user.ts';
import type { UserFilter } from '../../store/users.ts';

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
 * Lists accounts by id, newest first by default. Without `users.view_all`, accounts with a pending deletion are left
 * out, and email and phone are not searched. The route requires that permission for `role` and `deletionPending`.
 * Throws 422 for an unknown role.
 */
type ListUsers = (viewer: UserCaller, search: UserSearch, request: PageRequest) => Promise<PageOf<User>>;

const standingsOf = (viewsAll: boolean, deletionPending: boolean | undefined): UserFilter['standings'] => {
  if (!viewsAll || deletionPending === false) return ['live'];
  return deletionPending === true ? ['pending'] : ['live', 'pending'];
};

export const createListUsers = ({ store, sequences }: Dependencies): ListUsers => {
  const findRoleId = async (role: string | undefined): Promise<number | undefined> => {
    if (role === undefined) return undefined;
    const row = await (/^\d{1,9}$/.test(role)
      ? store.roles.find(Number(role))
      : store.roles.findByName(role));
    if (row === null) throw invalid({ role: message('validation.unknown') });
    return row._id;
  };

  return async (viewer, { search, isTrainer, order, role, deletionPending }, request) => {
    const viewsAll = can(viewer, 'users.view_all');
    const filter: UserFilter = {
      search: search === undefined ? undefined : (viewsAll ? contactSearch : nameSearch)(search),
      isTrainer,
      roleId: await findRoleId(role),
      standings: standingsOf(viewsAll, deletionPending),
    };
    const isPaged = request.mode === 'page';
    const isCounted = isPaged && filter.search === undefined;
    const total = isCounted ? await store.users.count(filter) : undefined;
    const newest = await sequences.last('users');
    const slice = {
      order: order ?? ('DESC' as const),
      after: isPaged ? undefined : request.after[0],
      skip: isPaged ? request.skip : 0,
      take: request.perPage,
      counted: isPaged,
      signal: request.signal,
    };
    const listed = await store.users.list(filter, { total, newest }, slice);
    const last = listed.continueAfter ?? listed.rows.at(-1)?._id;
    return {
      rows: listed.rows,
      total: isPaged ? (total ?? listed.total) : undefined,
      next: listed.more && last !== undefined ? [last] : undefined,
    };
  };
};
