/**
 * The user resource (specification 2.1). Identity builds it for a viewer, and other services embed it unchanged,
 * so one place decides which fields a viewer sees.
 */
import type { IdentityDefinition } from '@fitness/proto/gen/fitness/identity/v1/Identity.ts';
import type { User__Output as UserRecord } from '@fitness/proto/gen/fitness/identity/v1/User.ts';
import type {
  UserResource as UserMessage,
  UserResource__Output as UserMessageOutput,
} from '@fitness/proto/gen/fitness/identity/v1/UserResource.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import { type Caller, can, GUEST } from '@fitness/shared/kernel/caller.ts';
import { parseTimestamp } from '@fitness/shared/kernel/clock.ts';
import { z } from 'zod';
import { mediaSchema } from './media.ts';
import { subscriptionSchema } from './subscription.ts';
import { timestampSchema } from './timestamp.ts';

export const GENDERS = ['male', 'female', 'other'] as const;

export const roleSchema = z
  .object({
    id: z.int(),
    name: z.string().meta({ description: 'Name in the code, which never changes' }),
    title: z.string().meta({ description: 'Display name' }),
    permissions: z.array(z.string()).meta({ description: 'Permissions that the role grants' }),
  })
  .meta({ id: 'Role', description: 'A role with its permissions' });

/** Visible to everyone. */
const publicShape = {
  id: z.int(),
  username: z.string().meta({ description: 'Unique name to sign in with' }),
  first_name: z.string().meta({ description: 'First name; empty for an erased account' }),
  last_name: z.string().meta({ description: 'Last name; empty for an erased account' }),
  created_at: timestampSchema,
  referral_code: z
    .string()
    .meta({ description: 'Code that a new user enters at registration to name this user as their referrer' }),
  height: z.int().nullable().meta({ description: 'Height in centimeters' }),
  birth_date: z.string().nullable().meta({ description: 'Date of birth, `YYYY-MM-DD`' }),
  gender: z.enum(GENDERS).nullable().meta({ description: 'Gender; null if not specified' }),
  is_trainer: z
    .boolean()
    .meta({ description: 'Whether the user identifies as a trainer. It authorizes nothing.' }),
  is_gym_owner: z
    .boolean()
    .meta({ description: 'Whether the user identifies as a gym owner. It authorizes nothing.' }),
  media: z.array(mediaSchema).meta({ description: 'Public files of the user' }),
  current_subscription: subscriptionSchema
    .nullable()
    .meta({ description: 'Active premium subscription; null without one' }),
};

/** The limited-access fields: absent, not null, for viewers who may not see them ({@link canSeeAllFields}). */
const limitedAccessShape = {
  email: z.string().meta({ description: 'Email address, in lower case' }),
  phone: z.string().meta({ description: 'Phone number, E.164, e.g. `+989120000001`' }),
  bank_account_number: z
    .string()
    .nullable()
    .meta({ description: 'IBAN or account number that withdrawals are paid out to; null without one' }),
  trainer_license_image: z.string().nullable().meta({ description: 'File name of the license document' }),
  trainer_license_link: z
    .string()
    .nullable()
    .meta({ description: 'Download path of the license document. Null without a document.' }),
  trainer_license_approved: z
    .boolean()
    .nullable()
    .meta({ description: 'True: approved. False: rejected. Null: the review is pending.' }),
  trainer_license_rejection_reason: z
    .string()
    .nullable()
    .meta({ description: 'Why the license was rejected' }),
  referrer_user_id: z
    .int()
    .nullable()
    .meta({ description: 'Id of the user who invited this one; null if nobody did' }),
  referral_score: z.number().meta({
    description:
      'Sum, over the users whom the user has invited, of 1 plus half of their `referral_score`. Not rounded, and cached for ten hours. ' +
      'In a list, a score that takes longer than three seconds is the last known one, or at first `referrals_count`.',
  }),
  referrals_count: z.int().meta({ description: 'Number of users whom the user has invited' }),
  roles: z.array(roleSchema).meta({ description: 'Roles of the user, with their permissions' }),
  deletion_requested_at: timestampSchema
    .nullable()
    .meta({ description: 'When the deletion was requested; null unless one is scheduled' }),
  deletion_scheduled_at: timestampSchema
    .nullable()
    .meta({ description: 'When the account will be erased; null unless a deletion is scheduled' }),
};

const limitedAccessSchema = z.object(limitedAccessShape);

export const LIMITED_ACCESS_FIELDS = Object.keys(
  limitedAccessShape,
) as readonly (keyof typeof limitedAccessShape)[];

export const userSchema = z
  .object({ ...publicShape, ...limitedAccessSchema.partial().shape })
  .meta({ id: 'User', description: 'A user, as the caller may see them' });

/** A user as a viewer sees them. */
export type UserResource = z.output<typeof userSchema>;
type LimitedAccessFields = z.output<typeof limitedAccessSchema>;
/** A user with every field. */
export type WholeUser = UserResource & LimitedAccessFields;

/**
 * Whether `viewer` sees the limited-access fields of user `userId`, and the license document. Every OAuth token sees the
 * profile of its user, because the consent page says so; a restricted token does not.
 */
export const canSeeAllFields = (viewer: Caller, userId: number): boolean =>
  (viewer.kind === 'user' && viewer.userId === userId && viewer.tokenKind !== 'restricted') ||
  can(viewer, 'users.view_all');

/** The fields of `user` that `viewer` may see. */
export const limitUser = (user: WholeUser, viewer: Caller): UserResource => {
  if (canSeeAllFields(viewer, user.id)) return user;
  const limited: readonly string[] = LIMITED_ACCESS_FIELDS;
  const visible = Object.entries(user).filter(([field]) => !limited.includes(field));
  return Object.fromEntries(visible) as UserResource;
};

/**
 * The placeholder for an erased account where a response must contain its user. Usernames cannot contain a colon, so this
 * one cannot belong to another user.
 */
export const erasedUser = (id: number, createdAt: string): UserResource => ({
  id,
  username: `deleted:${id}`,
  first_name: '',
  last_name: '',
  created_at: createdAt,
  referral_code: '',
  height: null,
  birth_date: null,
  gender: null,
  is_trainer: false,
  is_gym_owner: false,
  media: [],
  current_subscription: null,
});

/** Whether a user is the placeholder of {@link erasedUser}. */
export const isErased = ({ id, username }: UserResource): boolean => username === `deleted:${id}`;

type WithoutNull<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], null> };

/** Protobuf has no null: such fields are omitted. */
const withoutNull = <Fields extends object>(fields: Fields): WithoutNull<Fields> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as WithoutNull<Fields>;

const isWhole = (user: UserResource): user is WholeUser => user.email !== undefined;

/** The gRPC message for a user with or without the limited-access fields, which are in `hidden`. */
export const toUserMessage = (user: UserResource): UserMessage => {
  const fields = withoutNull(user);
  if (!isWhole(user)) return fields;
  const hidden = LIMITED_ACCESS_FIELDS.map((field) => [field, user[field]]);
  return { ...fields, hidden: withoutNull(Object.fromEntries(hidden) as LimitedAccessFields) };
};

type LimitedAccessMessage = NonNullable<UserMessageOutput['hidden']>;

const fromLimitedAccessMessage = (hidden: LimitedAccessMessage): LimitedAccessFields => ({
  email: hidden.email,
  phone: hidden.phone,
  bank_account_number: hidden.bank_account_number ?? null,
  trainer_license_image: hidden.trainer_license_image ?? null,
  trainer_license_link: hidden.trainer_license_link ?? null,
  trainer_license_approved: hidden.trainer_license_approved ?? null,
  trainer_license_rejection_reason: hidden.trainer_license_rejection_reason ?? null,
  referrer_user_id: hidden.referrer_user_id ?? null,
  referral_score: hidden.referral_score,
  referrals_count: hidden.referrals_count,
  roles: hidden.roles.map(({ id, name, title, permissions }) => ({ id, name, title, permissions })),
  deletion_requested_at: hidden.deletion_requested_at ?? null,
  deletion_scheduled_at: hidden.deletion_scheduled_at ?? null,
});

export const fromUserMessage = (user: UserMessageOutput): UserResource => ({
  id: user.id,
  username: user.username,
  first_name: user.first_name,
  last_name: user.last_name,
  created_at: user.created_at,
  referral_code: user.referral_code,
  height: user.height ?? null,
  birth_date: user.birth_date ?? null,
  gender: GENDERS.find((gender) => gender === user.gender) ?? null,
  is_trainer: user.is_trainer,
  is_gym_owner: user.is_gym_owner,
  // Other services get public media only, which have no purpose.
  media: user.media.map((row) => ({ ...row, purpose: null })),
  current_subscription: user.current_subscription,
  ...(user.hidden === null ? {} : fromLimitedAccessMessage(user.hidden)),
});

/** Both methods make one call, and throw `unavailable` if there is no answer. */
export interface UserReader {
  /**
   * Finds users by id, as `viewer` may see them. Omits unknown and erased users. `withErased` includes erased
   * users as {@link erasedUser}. `withoutPending` omits users with a pending deletion too.
   */
  find(
    ids: readonly number[],
    viewer: Caller,
    options?: { withErased?: boolean; withoutPending?: boolean },
  ): Promise<Map<number, UserResource>>;
  /** Finds users by id, for decisions and never for responses. Omits unknown and erased users. */
  findRecords(ids: readonly number[]): Promise<Map<number, UserRecord>>;
}

/**
 * Whether the account that had this id at that time still exists. After a backup is restored, an account opened
 * later may have the id of one that the backup does not contain.
 */
export const isAccountOf = async (
  users: Pick<UserReader, 'find'>,
  id: number,
  at: Date,
): Promise<boolean> => {
  const user = (await users.find([id], GUEST)).get(id);
  return user !== undefined && parseTimestamp(user.created_at) <= at;
};

export const createUserReader = (identity: GrpcClient<IdentityDefinition>): UserReader => ({
  find: async (ids, viewer, { withErased = false, withoutPending = false } = {}) => {
    const unique = [...new Set(ids)];
    if (unique.length === 0) return new Map();
    const query = { ids: unique, with_erased: withErased, without_pending: withoutPending };
    const { users } = await identity.call('ShowUsers', query, { retry: true, caller: viewer });
    return new Map(users.map((user) => [user.id, fromUserMessage(user)]));
  },
  findRecords: async (ids) => {
    const unique = [...new Set(ids)];
    if (unique.length === 0) return new Map();
    const { users } = await identity.call('GetUsers', { ids: unique }, { retry: true });
    return new Map(users.map((user) => [user.id, user]));
  },
});
