/** What content asks of identity. */
import type { IdentityDefinition } from '@fitness/proto/gen/fitness/identity/v1/Identity.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import { createUserDirectory, type UserDirectory } from '@fitness/shared/resources/user.ts';

export interface Users extends Pick<UserDirectory, 'show'> {
  /**
   * Which of these accounts are hidden now: `pending` with a scheduled deletion, `gone` erased or never there. Throws
   * `unavailable` when identity does not answer: whoever may be hidden is not shown on a guess.
   */
  hidden(ids: readonly number[]): Promise<{ pending: Set<number>; gone: Set<number> }>;
}

export const createUsers = (identity: GrpcClient<IdentityDefinition>): Users => ({
  show: createUserDirectory(identity).show,
  hidden: async (ids) => {
    const unique = [...new Set(ids)];
    if (unique.length === 0) return { pending: new Set(), gone: new Set() };
    const answer = await identity.call('GetHiddenUsers', { ids: unique }, { retry: true });
    return { pending: new Set(answer.pending_ids), gone: new Set(answer.gone_ids) };
  },
});
