/** The gRPC service of identity. */
import { toUserMessage } from '@fitness/contracts/user.ts';
import type { User__Output as UserRecord } from '@fitness/proto/gen/fitness/identity/v1/User.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { type GrpcService, grpcService } from '@fitness/shared/grpc/server.ts';
import { formatTimestamp, formatTimestampOrNull } from '@fitness/shared/kernel/clock.ts';
import { assertMaxItems, invalid, message, notFound } from '@fitness/shared/kernel/error.ts';
import { z } from 'zod';
import type { FoundUser } from '../app/accounts/get-users.ts';
import type { UseCases } from '../use-cases.ts';

const MAX_IDS = 200;

const documentSchema = z.object({
  user_id: z.int().positive(),
  media_id: z.int().positive(),
  filename: z.string().min(1),
});

type IdentityUseCases = Pick<
  UseCases,
  'introspect' | 'getUsers' | 'showUsers' | 'getHiddenUsers' | 'attachLicense' | 'getDeletionBlockers'
>;

export const createIdentityService = ({
  introspect,
  getUsers,
  showUsers,
  getHiddenUsers,
  attachLicense,
  getDeletionBlockers,
}: IdentityUseCases): GrpcService =>
  grpcService(grpcDefinitions.identity(), {
    Introspect: async ({ token }) => {
      const {
        userId,
        permissions,
        withheld,
        grantable,
        hasSecondFactor,
        tokenId,
        tokenKind,
        validForMs,
        epochStoreId = '',
        audience = '',
        page = '',
      } = await introspect(token);
      return {
        user_id: userId,
        permissions,
        withheld,
        grantable,
        second_factor: hasSecondFactor,
        token_id: tokenId,
        token_kind: tokenKind,
        valid_for_ms: validForMs,
        epoch_store_id: epochStoreId,
        audience,
        page,
      };
    },
    GetUsers: async ({ ids }) => {
      assertMaxItems('ids', ids, MAX_IDS);
      return { users: (await getUsers(ids)).map(toUserRecord) };
    },
    ShowUsers: async ({ ids, with_erased: withErased, without_pending: withoutPending }, { caller }) => {
      assertMaxItems('ids', ids, MAX_IDS);
      return { users: (await showUsers(ids, caller, { withErased, withoutPending })).map(toUserMessage) };
    },
    GetHiddenUsers: async ({ ids }) => {
      assertMaxItems('ids', ids, MAX_IDS);
      const { pending, gone } = await getHiddenUsers(ids);
      return { pending_ids: pending, gone_ids: gone };
    },
    AttachLicense: async (request) => {
      const parsed = documentSchema.safeParse(request);
      if (!parsed.success) throw invalid({ document: message('validation.invalid') });
      const { user_id: userId, media_id: mediaId, filename } = parsed.data;
      const current = await attachLicense({ userId, mediaId, filename });
      if (current === undefined) throw notFound();
      return { current };
    },
    GetDeletionBlockers: async (_request, { caller }) => {
      const blockers = await getDeletionBlockers(caller);
      return {
        blockers: blockers.map(({ code, extras }) => ({ code, extras_json: JSON.stringify(extras) })),
      };
    },
  });

const toUserRecord = ({ user, operatorPermissions }: FoundUser): UserRecord =>
  omitNull({
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
    bank_account_number: user.bank_account_number,
    referrer_user_id: user.referrer_user_id,
    height: user.height,
    birth_date: user.birth_date,
    gender: user.gender,
    deletion_requested_at: formatTimestampOrNull(user.deletion_requested_at),
    deletion_scheduled_at: formatTimestampOrNull(user.deletion_scheduled_at),
    operator_permissions: [...operatorPermissions],
  });

type OmitNull<Fields> = {
  [Name in keyof Fields as null extends Fields[Name] ? never : Name]: Fields[Name];
} & { [Name in keyof Fields as null extends Fields[Name] ? Name : never]?: Exclude<Fields[Name], null> };

/** Protobuf messages omit fields without a value. */
const omitNull = <Fields extends object>(fields: Fields): OmitNull<Fields> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as OmitNull<Fields>;
