import type { Dependencies } from '../../dependencies.ts';

/** `pending`: accounts with a pending deletion. `gone`: erased and unknown accounts. */
export const createGetHiddenUsers =
  ({ store }: Dependencies) =>
  (ids: readonly number[]): Promise<{ pending: number[]; gone: number[] }> =>
    store.users.partitionHidden(ids);
