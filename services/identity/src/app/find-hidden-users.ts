import type { Dependencies } from '../dependencies.ts';

/** `pending`: accounts with a pending deletion. `gone`: erased and unknown ones. */
export const createFindHiddenUsers =
  ({ users }: Pick<Dependencies, 'users'>) =>
  (ids: readonly number[]): Promise<{ pending: number[]; gone: number[] }> =>
    users.partitionHidden(ids);
