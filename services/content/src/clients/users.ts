import { createUserReader, type UserReader } from '@fitness/contracts/user.ts';
import type { IdentityDefinition } from '@fitness/proto/gen/fitness/identity/v1/Identity.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';

export interface Users extends Pick<UserReader, 'find'> {
  /**
   * Which of these accounts are hidden now. `pending`: with a scheduled deletion. `gone`: erased or unknown. Throws
   * `unavailable` when identity does not answer.
   */
  hidden(ids: readonly number[]): Promise<{ pending: Set<number>; gone: Set<number> }>;
}

export const createUsers = (identity: GrpcClient<IdentityDefinition>): Users => ({
  find: createUserReader(identity).find,
  hidden: async (ids) => {
    const unique = [...new Set(ids)];
    if (unique.length === 0) return { pending: new Set(), gone: new Set() };
    const answer = await identity.call('GetHiddenUsers', { ids: unique }, { retry: true });
    return { pending: new Set(answer.pending_ids), gone: new Set(answer.gone_ids) };
  },
});
