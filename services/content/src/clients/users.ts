import { createUserReader, type UserReader } from '@fitness/contracts/user.ts';
import type { IdentityDefinition } from '@fitness/proto/gen/fitness/identity/v1/Identity.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';

export interface Users extends Pick<UserReader, 'find'> {
  /**
   * Those of these accounts that are hidden now. `gone`: erased or unknown. Throws `unavailable` when identity does not
   * answer.
   */
  hidden(ids: readonly number[]): Promise<ReadonlyMap<number, 'deletion_scheduled' | 'gone'>>;
}

export const createUsers = (identity: GrpcClient<IdentityDefinition>): Users => ({
  find: createUserReader(identity).find,
  hidden: async (ids) => {
    const unique = [...new Set(ids)];
    if (unique.length === 0) return new Map();
    const answer = await identity.call('GetHiddenUsers', { ids: unique }, { retry: true });
    return new Map([
      ...answer.pending_ids.map((id) => [id, 'deletion_scheduled'] as const),
      ...answer.gone_ids.map((id) => [id, 'gone'] as const),
    ]);
  },
});
