/** What other processes ask identity. */
import type { User__Output } from '@fitness/proto/gen/fitness/identity/v1/User.ts';
import { type Caller, can } from '@fitness/shared/caller.ts';
import { formatTimestamp } from '@fitness/shared/clock.ts';
import { forbidden, invalid, message, notFound, unauthenticated } from '@fitness/shared/error.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { type GrpcService, grpcService } from '@fitness/shared/grpc/server.ts';
import { erasedUser, toUserMessage } from '@fitness/shared/resources/user.ts';
import { z } from 'zod';
import type { Introspect } from '../app/introspect.ts';
import type { LicenceDocument } from '../app/license-document.ts';
import type { LookUpUsers } from '../app/look-up-users.ts';
import type { UserPresenter } from '../app/user-resource.ts';
import type { User } from '../domain/user.ts';

const MAX_IDS = 200;

const document = z.object({
  user_id: z.int().positive(),
  media_id: z.int().positive(),
  filename: z.string().min(1),
});

export interface IdentityGrpcParts {
  introspect: Introspect;
  lookUpUsers: LookUpUsers;
  presenter: UserPresenter;
  /** Undefined: there is no such live account. Otherwise whether the document is its licence now. */
  attachLicence: (document: LicenceDocument) => Promise<boolean | undefined>;
  /** What stands in the way of deleting the account, in the order of the catalogue. */
  deletionBlockers: (userId: number) => Promise<{ code: string; extras: Record<string, string | number> }[]>;
}

/** Blockers tell of balances and subscriptions. */
const whoMaySeeOwnPayments = (caller: Caller): number => {
  if (caller.kind !== 'user') throw unauthenticated();
  if (!can(caller, 'payments.view_own')) throw forbidden('needs payments.view_own');
  return caller.userId;
};

const assertFewEnough = (ids: readonly number[]): void => {
  if (ids.length > MAX_IDS) throw invalid({ ids: message('validation.max_items', { max: MAX_IDS }) });
};

/** An optional field that is null is left out. */
const optional = <Key extends string, Value>(key: Key, value: Value | null): Partial<Record<Key, Value>> =>
  value === null ? {} : ({ [key]: value } as Record<Key, Value>);

const toMessage = (user: User): User__Output => ({
  id: user._id,
  email: user.email,
  phone: user.phone,
  username: user.username,
  first_name: user.first_name,
  last_name: user.last_name,
  created_at: formatTimestamp(user.created_at),
  referral_code: user.referral_code,
  is_trainer: user.is_trainer,
  is_gym_owner: user.is_gym_owner,
  ...optional('bank_account_number', user.bank_account_number),
  ...optional('referrer_user_id', user.referrer_user_id),
  ...optional('height', user.height),
  ...optional('birth_date', user.birth_date),
  ...optional('gender', user.gender),
  ...optional(
    'deletion_requested_at',
    user.deletion_requested_at && formatTimestamp(user.deletion_requested_at),
  ),
  ...optional(
    'deletion_scheduled_at',
    user.deletion_scheduled_at && formatTimestamp(user.deletion_scheduled_at),
  ),
});

export const identityService = ({
  introspect,
  lookUpUsers,
  presenter,
  attachLicence,
  deletionBlockers,
}: IdentityGrpcParts): GrpcService =>
  grpcService(grpcDefinitions.identity(), {
    Introspect: async ({ token }) => {
      const { userId, permissions, tokenId, tokenKind } = await introspect(token);
      return { user_id: userId, permissions, token_id: tokenId, token_kind: tokenKind };
    },
    GetUsers: async ({ ids }) => {
      assertFewEnough(ids);
      const users = await lookUpUsers.byIds(ids);
      return { users: users.map(toMessage) };
    },
    ShowUsers: async ({ ids, with_erased: withErased }, { caller }) => {
      assertFewEnough(ids);
      const resources = await presenter.page(await lookUpUsers.byIds(ids), caller);
      const erased = withErased ? await lookUpUsers.erasedAmong(ids) : [];
      const tombstones = erased.map((row) => erasedUser(row._id, formatTimestamp(row.created_at)));
      return { users: [...resources, ...tombstones].map(toUserMessage) };
    },
    GetHiddenUsers: async ({ ids }) => {
      assertFewEnough(ids);
      const { pending, gone } = await lookUpUsers.hiddenOf(ids);
      return { pending_ids: pending, gone_ids: gone };
    },
    AttachLicense: async (request) => {
      const parsed = document.safeParse(request);
      if (!parsed.success) throw invalid({ document: message('validation.invalid') });
      const { user_id: userId, media_id: mediaId, filename } = parsed.data;
      const current = await attachLicence({ userId, mediaId, filename });
      if (current === undefined) throw notFound();
      return { current };
    },
    GetDeletionBlockers: async (_request, { caller }) => {
      const blockers = await deletionBlockers(whoMaySeeOwnPayments(caller));
      return {
        blockers: blockers.map(({ code, extras }) => ({ code, extras_json: JSON.stringify(extras) })),
      };
    },
  });
