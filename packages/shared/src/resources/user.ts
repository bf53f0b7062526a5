/**
 * The user as it leaves us (specification 2.1). Which fields a viewer may see is decided here and nowhere else, also
 * where a user is embedded in another resource.
 */

import type { IdentityDefinition } from '@fitness/proto/gen/fitness/identity/v1/Identity.ts';
import type { User } from '@fitness/proto/gen/fitness/identity/v1/User.ts';
import { z } from 'zod';
import { type Caller, can } from '../caller.ts';
import type { GrpcClient } from '../grpc/client.ts';

/** Shown only to the user himself and to holders of `users.view_all`. */
export const LIMITED_ACCESS_HIDDEN = [
  'email',
  'phone',
  'bank_account_number',
  'trainer_license_image',
  'trainer_license_link',
  'trainer_license_approved',
  'trainer_license_rejection_reason',
  'referrer_user_id',
  'referral_score',
  'referrals_count',
  'roles',
  'deletion_requested_at',
  'deletion_scheduled_at',
] as const;

export type LimitedAccessHidden = (typeof LIMITED_ACCESS_HIDDEN)[number];

/** Whether `viewer` sees the limited-access hidden fields of user `userId`. */
export const seesEverythingOf = (viewer: Caller, userId: number): boolean =>
  (viewer.kind === 'user' && viewer.userId === userId) || can(viewer, 'users.view_all');

/** `resource` as `viewer` may see it; hidden fields are absent, not null. */
export const limitUser = <Resource extends { id: number }>(
  resource: Resource,
  viewer: Caller,
): Omit<Resource, LimitedAccessHidden> & Partial<Resource> => {
  if (seesEverythingOf(viewer, resource.id)) return resource;
  const hidden: readonly string[] = LIMITED_ACCESS_HIDDEN;
  const visible = Object.entries(resource).filter(([field]) => !hidden.includes(field));
  return Object.fromEntries(visible) as Omit<Resource, LimitedAccessHidden> & Partial<Resource>;
};

/** A user inside another resource: what identity answers in one batched call, without media and subscription. */
export const embeddedUserSchema = z
  .object({
    id: z.int(),
    email: z.string().optional(),
    phone: z.string().optional(),
    bank_account_number: z.string().nullable().optional(),
    username: z.string(),
    first_name: z.string(),
    last_name: z.string(),
    created_at: z.string(),
    referral_code: z.string(),
    referrer_user_id: z.int().nullable().optional(),
    height: z.int().nullable(),
    birth_date: z.string().nullable(),
    gender: z.string().nullable(),
    is_trainer: z.boolean(),
    is_gym_owner: z.boolean(),
    deletion_requested_at: z.string().nullable().optional(),
    deletion_scheduled_at: z.string().nullable().optional(),
  })
  .meta({ id: 'EmbeddedUser' });

export type EmbeddedUser = z.output<typeof embeddedUserSchema>;

type UserOutput = import('@fitness/proto/gen/fitness/identity/v1/User.ts').User__Output;

const complete = (user: UserOutput) => ({
  id: user.id,
  email: user.email,
  phone: user.phone,
  bank_account_number: user.bank_account_number ?? null,
  username: user.username,
  first_name: user.first_name,
  last_name: user.last_name,
  created_at: user.created_at,
  referral_code: user.referral_code,
  referrer_user_id: user.referrer_user_id ?? null,
  height: user.height ?? null,
  birth_date: user.birth_date ?? null,
  gender: user.gender ?? null,
  is_trainer: user.is_trainer,
  is_gym_owner: user.is_gym_owner,
  deletion_requested_at: user.deletion_requested_at ?? null,
  deletion_scheduled_at: user.deletion_scheduled_at ?? null,
});

export const embedUser = (user: UserOutput, viewer: Caller): EmbeddedUser =>
  limitUser(complete(user), viewer) as EmbeddedUser;

/** Users for a page of rows, in one call. */
export interface UserDirectory {
  /** By id; an erased or unknown user is missing. Throws `unavailable` when identity does not answer. */
  getMany(ids: readonly number[]): Promise<Map<number, UserOutput>>;
}

export const createUserDirectory = (identity: GrpcClient<IdentityDefinition>): UserDirectory => ({
  getMany: async (ids) => {
    const unique = [...new Set(ids)];
    if (unique.length === 0) return new Map();
    const { users } = await identity.call('GetUsers', { ids: unique }, { retry: true });
    return new Map(users.map((user) => [user.id, user]));
  },
});

export type { User };
