/** Users of a stand-in for identity, for tests. */
import type { ShowUsersRequest__Output } from '@fitness/proto/gen/fitness/identity/v1/ShowUsersRequest.ts';
import type { ShowUsersResponse } from '@fitness/proto/gen/fitness/identity/v1/ShowUsersResponse.ts';
import type { InternalContext } from '@fitness/shared/process-identity/caller-context.ts';
import { erasedUser, limitUser, toUserMessage, type WholeUser } from '../user.ts';

export const wholeUser = (id: number, fields: Partial<WholeUser> = {}): WholeUser => ({
  id,
  email: `user${id}@example.test`,
  phone: `+98912${String(id).padStart(7, '0')}`,
  bank_account_number: null,
  trainer_license_image: null,
  trainer_license_link: null,
  trainer_license_approved: null,
  trainer_license_rejection_reason: null,
  username: `user${id}`,
  first_name: 'First',
  last_name: 'Last',
  created_at: '2026-01-01 00:00:00',
  referral_code: `ref${id}`,
  referrer_user_id: null,
  height: null,
  birth_date: null,
  gender: null,
  is_trainer: false,
  is_gym_owner: false,
  referral_score: 0,
  referrals_count: 0,
  roles: [],
  deletion_requested_at: null,
  deletion_scheduled_at: null,
  media: [],
  current_subscription: null,
  ...fields,
});

/** Implements the RPC ShowUsers. `find` returns a user as a viewer sees them; users that it does not return are erased. */
export const showUsers =
  (find: (id: number) => WholeUser | undefined) =>
  async (
    { ids, with_erased: withErased, without_pending: withoutPending }: ShowUsersRequest__Output,
    { caller }: InternalContext,
  ): Promise<ShowUsersResponse> => ({
    users: ids.flatMap((id) => {
      const user = find(id);
      if (withoutPending && user !== undefined && user.deletion_scheduled_at !== null) return [];
      if (user !== undefined) return toUserMessage(limitUser(user, caller));
      return withErased ? toUserMessage(erasedUser(id, '2026-01-01 00:00:00')) : [];
    }),
  });
