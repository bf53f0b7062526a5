/** A gym as its owner's service knows it, and who may see it. */
import { type Caller, can } from '@fitness/shared/caller.ts';
import type { WorkingPeriod } from './working-periods.ts';

export interface Crowd {
  current: number;
  capacity: number;
}

/** The licence document and its review (specification 3.2). */
export interface License {
  /** File name of the stored document. */
  image: string | null;
  mediaId: number | null;
  /** null: pending, true: approved, false: rejected. */
  approved: boolean | null;
  rejectionReason: string | null;
  /** The document that the review was given for; null while pending, or when there was none. */
  reviewedMediaId: number | null;
  /**
   * The newest document that this gym was ever told of, current or gone. What media tells of an older one comes too
   * late to matter, in whatever order it arrives.
   */
  newestMediaId: number;
}

/** What callers may change of a gym. */
export interface GymDetails {
  name: string | null;
  address: string | null;
  description: string | null;
  lat: number | null;
  lng: number | null;
  isActive: boolean;
  showCrowd: boolean;
  cityId: number | null;
  majorIds: number[];
  ownerId: number | null;
}

export interface Gym extends GymDetails {
  id: number;
  crowd: Crowd | null;
  workingPeriods: WorkingPeriod[];
  license: License;
  ratingSum: number;
  ratingCount: number;
  /** Grows by one with every change that an event tells of. */
  version: number;
  createdAt: Date;
  updatedAt: Date;
}

export const NO_LICENSE: License = {
  image: null,
  mediaId: null,
  approved: null,
  rejectionReason: null,
  reviewedMediaId: null,
  newestMediaId: 0,
};

export const newGym = (id: number, details: GymDetails, now: Date): Gym => ({
  ...details,
  id,
  crowd: null,
  workingPeriods: [],
  license: NO_LICENSE,
  ratingSum: 0,
  ratingCount: 0,
  version: 1,
  createdAt: now,
  updatedAt: now,
});

const isOwner = (gym: Pick<Gym, 'ownerId'>, caller: Caller): boolean =>
  caller.kind === 'user' && gym.ownerId === caller.userId;

/** Whether `caller` also sees who owns the gym and its licence (contract 4), and the gym while it is inactive. */
export const seesAllOf = (gym: Pick<Gym, 'ownerId'>, caller: Caller): boolean =>
  isOwner(gym, caller) || can(caller, 'gyms.view_all');

export const sees = (gym: Pick<Gym, 'ownerId' | 'isActive'>, caller: Caller): boolean =>
  gym.isActive || seesAllOf(gym, caller);

/** `gyms.update` for one's own gym, `gyms.update_any` for any. */
export const mayUpdate = (gym: Pick<Gym, 'ownerId'>, caller: Caller): boolean =>
  can(caller, 'gyms.update_any') || (isOwner(gym, caller) && can(caller, 'gyms.update'));

/** Whether the gym exists for someone who comes to change it; whom a permission lets in sees what he changes. */
export const existsForChange = (gym: Pick<Gym, 'ownerId' | 'isActive'>, caller: Caller): boolean =>
  sees(gym, caller) || can(caller, 'gyms.update_any') || can(caller, 'gyms.approve_license');

export type CrowdLevel = 'low' | 'medium' | 'high' | 'full';

/** How full it is: below half, below four fifths, below the capacity, or full. */
export const crowdLevel = ({ current, capacity }: Crowd): CrowdLevel => {
  if (current >= capacity) return 'full';
  if (current * 5 >= capacity * 4) return 'high';
  return current * 2 >= capacity ? 'medium' : 'low';
};

/** The exact mean of all scores, 0 without any. */
export const ratingAverage = ({ ratingSum, ratingCount }: Pick<Gym, 'ratingSum' | 'ratingCount'>): number =>
  ratingCount === 0 ? 0 : ratingSum / ratingCount;
