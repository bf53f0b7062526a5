/** The user as this service shows it (specification 2.1), built in one place for every route. */
import type { Caller } from '@fitness/shared/caller.ts';
import { formatTimestamp, formatTimestampOrNull } from '@fitness/shared/clock.ts';
import { MODEL } from '@fitness/shared/models.ts';
import type { ReadMedia } from '@fitness/shared/resources/media.ts';
import type { ReadSubscriptions } from '@fitness/shared/resources/subscription.ts';
import {
  limitUser,
  type roleSchema,
  seesEverythingOf,
  type UserResource,
  type WholeUser,
} from '@fitness/shared/resources/user.ts';
import type { z } from 'zod';
import type { Role } from '../domain/roles.ts';
import type { User } from '../domain/user.ts';
import type { RoleStore } from '../store/roles.ts';
import type { ReferralsReader } from './referral-score.ts';

export const toRole = (role: Role): z.output<typeof roleSchema> => ({
  id: role._id,
  name: role.name,
  title: role.title,
  permissions: role.permissions,
});

export interface UserPresenter {
  /**
   * In the order of `users`, each as `viewer` may see it; what is embedded is fetched once for all. It does not wait
   * long for a referral score: one huge tree keeps no page of others from being answered.
   */
  page(users: readonly User[], viewer: Caller): Promise<UserResource[]>;
  /** The user himself is asked for: his referral score is waited for. */
  one(user: User, viewer: Caller): Promise<UserResource>;
}

/** Well within the five seconds that other services wait for the users that they embed. */
const PAGE_WAITS_FOR_SCORES = { patienceMs: 3_000 };

export interface UserPresenterParts {
  roles: RoleStore;
  referrals: ReferralsReader;
  readMedia: ReadMedia;
  readSubscriptions: ReadSubscriptions;
}

const licenceLink = (user: User): string | null =>
  user.trainer_license_media_id === null || user.trainer_license_image === null
    ? null
    : `/api/v1/media/${user.trainer_license_media_id}/${encodeURIComponent(user.trainer_license_image)}`;

const ownFields = (user: User) => ({
  id: user._id,
  email: user.email,
  phone: user.phone,
  bank_account_number: user.bank_account_number,
  trainer_license_image: user.trainer_license_image,
  trainer_license_link: licenceLink(user),
  trainer_license_approved: user.trainer_license_approved,
  trainer_license_rejection_reason: user.trainer_license_rejection_reason,
  username: user.username,
  first_name: user.first_name,
  last_name: user.last_name,
  created_at: formatTimestamp(user.created_at),
  referral_code: user.referral_code,
  referrer_user_id: user.referrer_user_id,
  height: user.height,
  birth_date: user.birth_date,
  gender: user.gender,
  is_trainer: user.is_trainer,
  is_gym_owner: user.is_gym_owner,
  deletion_requested_at: formatTimestampOrNull(user.deletion_requested_at),
  deletion_scheduled_at: formatTimestampOrNull(user.deletion_scheduled_at),
});

export const createUserPresenter = (parts: UserPresenterParts): UserPresenter => {
  const show = async (
    users: readonly User[],
    viewer: Caller,
    waiting: { patienceMs?: number },
  ): Promise<UserResource[]> => {
    const ids = users.map((user) => user._id);
    // Nothing is computed for a viewer who will not see it.
    const fullyShown = ids.filter((id) => seesEverythingOf(viewer, id));
    const [referrals, roles, media, subscriptions] = await Promise.all([
      parts.referrals.read(fullyShown, waiting),
      fullyShown.length === 0 ? [] : parts.roles.findAll(),
      parts.readMedia(MODEL.user, ids),
      parts.readSubscriptions(ids),
    ]);
    return users.map((user) => {
      const resource: WholeUser = {
        ...ownFields(user),
        referral_score: referrals.get(user._id)?.score ?? 0,
        referrals_count: referrals.get(user._id)?.count ?? 0,
        roles: roles.filter((role) => user.role_ids.includes(role._id)).map(toRole),
        media: media.get(user._id) ?? [],
        current_subscription: subscriptions.get(user._id) ?? null,
      };
      return limitUser(resource, viewer);
    });
  };
  return {
    page: (users, viewer) => show(users, viewer, PAGE_WAITS_FOR_SCORES),
    one: async (user, viewer) => {
      const [resource] = await show([user], viewer, {});
      if (resource === undefined) throw new Error('a page of one user is empty');
      return resource;
    },
  };
};
