/** The user resource (specification 2.1). */
import { NO_MEDIA, toMediaResources } from '@fitness/contracts/media-copy.ts';
import { MODEL } from '@fitness/contracts/model-names.ts';
import {
  canSeeAllFields,
  limitUser,
  type UserResource,
  userSchema,
  type WholeUser,
} from '@fitness/contracts/user.ts';
import type { Caller } from '@fitness/shared/kernel/caller.ts';
import { formatTimestamp, formatTimestampOrNull } from '@fitness/shared/kernel/clock.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { StoredUserFields, User } from '../../domain/user.ts';
import { toRole } from '../roles/role-resource.ts';
import type { Referrals, ReferralsReader } from './referrals-reader.ts';

interface PresentUserDependencies
  extends Pick<Dependencies, 'store' | 'subscriptions' | 'baseUrl' | 'clock'> {
  referralsReader: ReferralsReader;
}

/**
 * Returns resources in the order of `users`, each as `viewer` may see it. Does not wait for slow referral scores. Shows the copies of
 * subscriptions. Throws `unavailable` if there is a user without a copy and store-billing does not respond.
 */
export type PresentUsers = (users: readonly User[], viewer: Caller) => Promise<UserResource[]>;

/**
 * Returns the resource as `viewer` may see it. Waits for the referral score, and asks store-billing, so that a purchase is seen at
 * once. Throws `unavailable` like {@link PresentUsers}.
 */
export type PresentUser = (user: User, viewer: Caller) => Promise<UserResource>;

/** Less than the five seconds that other services wait for the users that they embed. */
const LIST_SCORE_TIMEOUT_MS = 3_000;

export const createPresentUsers =
  (dependencies: PresentUserDependencies): PresentUsers =>
  (users, viewer) =>
    present(dependencies, users, viewer, { isList: true });

export const createPresentUser =
  (dependencies: PresentUserDependencies): PresentUser =>
  async (user, viewer) => {
    const [resource] = await present(dependencies, [user], viewer, { isList: false });
    if (resource === undefined) throw new Error('one user has no resource');
    return resource;
  };

/** The caller's own account. Every token sees whether its deletion is pending, even one that sees nothing else. */
export const createPresentOwnAccount = (dependencies: PresentUserDependencies): PresentUser => {
  const presentUser = createPresentUser(dependencies);
  return async (user, viewer) => ({
    ...(await presentUser(user, viewer)),
    ...deletionFields(user),
  });
};

const present = async (
  { store, referralsReader, subscriptions: reader, baseUrl, clock }: PresentUserDependencies,
  users: readonly User[],
  viewer: Caller,
  { isList }: { isList: boolean },
): Promise<UserResource[]> => {
  const now = clock.now();
  // The hidden fields are read only for users that the viewer sees completely.
  const visible = users.filter((user) => canSeeAllFields(viewer, user._id));
  const referrerIds = visible.filter((user) => user.has_referrals).map((user) => user._id);
  const [referrals, rolesInUse, subscriptions] = await Promise.all([
    referrerIds.length === 0
      ? new Map<number, Referrals>()
      : referralsReader.read(referrerIds, { timeoutMs: isList ? LIST_SCORE_TIMEOUT_MS : undefined }),
    store.roles.findMany([...new Set(visible.flatMap((user) => user.role_ids))]),
    Promise.all(users.map((user) => reader.show(user._id, user.subscription, { now, isList }))),
  ]);
  return users.map((user, index) => {
    const resource: WholeUser = {
      ...storedFields(user),
      referral_score: referrals.get(user._id)?.score ?? 0,
      referrals_count: referrals.get(user._id)?.count ?? 0,
      roles: rolesInUse.filter((role) => user.role_ids.includes(role._id)).map(toRole),
      media: toMediaResources(MODEL.user, user._id, user.media ?? NO_MEDIA, baseUrl),
      current_subscription: subscriptions[index] ?? null,
    };
    return limitUser(resource, viewer);
  });
};

/** Fields with the same name in the account and the resource. Fields with different types are converted. */
const storedFields = (user: User) => {
  const { trainer_license_media_id: mediaId, trainer_license_image: image } = user;
  return {
    ...(Object.fromEntries(
      Object.entries(user).filter(([field]) => field in userSchema.shape),
    ) as unknown as StoredUserFields),
    id: user._id,
    trainer_license_link:
      mediaId === null || image === null ? null : `/api/v1/media/${mediaId}/${encodeURIComponent(image)}`,
    created_at: formatTimestamp(user.created_at),
    ...deletionFields(user),
  };
};

const deletionFields = (user: User) => ({
  deletion_requested_at: formatTimestampOrNull(user.deletion_requested_at),
  deletion_scheduled_at: formatTimestampOrNull(user.deletion_scheduled_at),
});
