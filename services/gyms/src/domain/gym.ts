/** A gym, and who may see and change it. */
import type { BoostCopy } from '@fitness/contracts/boost.ts';
import { type License, NO_LICENSE } from '@fitness/contracts/license.ts';
import { type MediaCopy, NO_MEDIA } from '@fitness/contracts/media-copy.ts';
import { type Caller, can, isOwn, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import { NEVER_BOOSTED } from './boost.ts';
import { CLEARED, type GymDetails } from './gym-fields.ts';
import type { WorkingPeriod } from './working-periods.ts';

export interface Crowd {
  current: number;
  capacity: number;
}

export interface Gym extends GymDetails {
  id: number;
  crowd: Crowd | null;
  workingPeriods: WorkingPeriod[];
  license: License;
  ratingSum: number;
  ratingCount: number;
  /** The gym comes first in lists until then. Depends on which events of store-billing have arrived. */
  boostedUntil: Date;
  /** The boost that ends then. */
  boost: BoostCopy | null;
  /** The public files. */
  media: MediaCopy;
  /** Increases by one with every change that publishes an event. */
  version: number;
  createdAt: Date;
  updatedAt: Date;
}

/** Creates a gym. Fields that `details` leaves out are cleared. */
export const newGym = (id: number, details: Partial<GymDetails>, now: Date): Gym => ({
  ...CLEARED,
  ...details,
  id,
  crowd: null,
  workingPeriods: [],
  license: NO_LICENSE,
  boostedUntil: NEVER_BOOSTED.boostedUntil,
  boost: NEVER_BOOSTED.boost,
  media: NO_MEDIA,
  ratingSum: 0,
  ratingCount: 0,
  version: 1,
  createdAt: now,
  updatedAt: now,
});

/** Permission that covers the caller's own gyms. */
export const OWN_GYMS = 'gyms.update';

const isOwner = (gym: Pick<Gym, 'ownerId'>, caller: Caller): boolean => isOwn(caller, gym.ownerId, OWN_GYMS);

/** Whether `caller` sees the owner and the license of the gym, and the gym while it is inactive. */
export const seesAllOf = (gym: Pick<Gym, 'ownerId'>, caller: Caller): boolean =>
  isOwner(gym, caller) || can(caller, 'gyms.view_all');

export const sees = (gym: Pick<Gym, 'ownerId' | 'isActive'>, caller: Caller): boolean =>
  gym.isActive || seesAllOf(gym, caller);

/** What the caller needs to update the gym: `gyms.update` for their own gym, or `gyms.update_any` for any gym. */
export const neededForUpdate = (gym: Pick<Gym, 'ownerId'>, caller: UserCaller): Permission =>
  gym.ownerId === caller.userId && !can(caller, 'gyms.update_any') ? OWN_GYMS : 'gyms.update_any';

const OF_ANY_GYM = ['gyms.update_any', 'gyms.approve_license', 'gyms.transfer_ownership'] as const;

/** Whether the gym exists for a caller who wants to change it: they see it, or have a permission that covers it. */
export const existsForChange = (gym: Pick<Gym, 'ownerId' | 'isActive'>, caller: Caller): boolean =>
  sees(gym, caller) || OF_ANY_GYM.some((permission) => can(caller, permission));

export type CrowdLevel = 'low' | 'medium' | 'high' | 'full';

/** `low` is below half of the capacity, `medium` below four fifths, and `high` below the capacity. */
export const crowdLevel = ({ current, capacity }: Crowd): CrowdLevel => {
  if (current >= capacity) return 'full';
  if (current * 5 >= capacity * 4) return 'high';
  return current * 2 >= capacity ? 'medium' : 'low';
};

/** The exact mean of all scores, or 0 without any. */
export const ratingAverage = ({ ratingSum, ratingCount }: Pick<Gym, 'ratingSum' | 'ratingCount'>): number =>
  ratingCount === 0 ? 0 : ratingSum / ratingCount;
