/** What other services need to know of users, for a page of rows at once. */
import type { User } from '../domain/user.ts';
import type { UserStore } from '../store/users.ts';

export interface LookUpUsers {
  /** Erased and unknown ids are missing. */
  byIds(ids: readonly number[]): Promise<User[]>;
  /** What is left of those who are erased. */
  erasedAmong(ids: readonly number[]): Promise<Pick<User, '_id' | 'created_at'>[]>;
  /** Whose deletion is pending, and who is erased or never was. */
  hiddenOf(ids: readonly number[]): Promise<{ pending: number[]; gone: number[] }>;
}

export const createLookUpUsers = (users: UserStore): LookUpUsers => ({
  byIds: (ids) => users.findByIds(ids),
  erasedAmong: (ids) => users.findErased(ids),
  hiddenOf: (ids) => users.partitionHidden(ids),
});
