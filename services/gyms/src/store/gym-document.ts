/** How a gym is stored: its own fields, and those that are derived from them so that an index can serve a question. */

import { erase, privacy, retain } from '@fitness/shared/mongo/privacy.ts';
import { indexGrams } from '@fitness/shared/text-search.ts';
import { type Connection, type Model, Schema } from 'mongoose';
import { encodeGeohash } from '../domain/geohash.ts';
import type { Gym } from '../domain/gym.ts';

/** `visibleTo` of a gym that everyone sees, and of one that only `gyms.view_all` sees; else the owner's id. */
export const EVERYONE = 0;
export const NOBODY = -1;

interface Derived {
  /** One number for "active, or mine", so that one index range answers it. */
  visibleTo: number;
  /** Null without a whole location. */
  geohash: string | null;
  /** The grams of the searched fields, field by field: no match spans two. */
  grams: string[];
}

export type GymDocument = Omit<Gym, 'id'> & Derived & { _id: number };

const period = {
  weekday: { type: Number, required: true },
  opensAt: { type: String, required: true },
  closesAt: { type: String, required: true },
} as const;

const gymSchema = new Schema<GymDocument>(
  {
    _id: { type: Number, required: true },
    name: { type: String, default: null },
    address: { type: String, default: null },
    description: { type: String, default: null },
    lat: { type: Number, default: null },
    lng: { type: Number, default: null },
    isActive: { type: Boolean, required: true },
    showCrowd: { type: Boolean, required: true },
    cityId: { type: Number, default: null },
    majorIds: { type: [Number], default: [] },
    ownerId: { type: Number, default: null },
    crowd: {
      type: new Schema({ current: Number, capacity: Number }, { _id: false }),
      default: null,
    },
    workingPeriods: { type: [new Schema(period, { _id: false })], default: [] },
    license: {
      type: new Schema(
        {
          image: { type: String, default: null },
          mediaId: { type: Number, default: null },
          approved: { type: Boolean, default: null },
          rejectionReason: { type: String, default: null },
          reviewedMediaId: { type: Number, default: null },
          newestMediaId: { type: Number, default: 0 },
        },
        { _id: false },
      ),
      required: true,
    },
    ratingSum: { type: Number, required: true },
    ratingCount: { type: Number, required: true },
    version: { type: Number, required: true },
    createdAt: { type: Date, required: true },
    updatedAt: { type: Date, required: true },
    visibleTo: { type: Number, required: true },
    geohash: { type: String, default: null },
    grams: { type: [String], default: [] },
  },
  { collection: 'gyms', versionKey: false, minimize: false },
)
  .index({ visibleTo: 1, _id: -1 })
  .index({ cityId: 1, _id: -1 })
  .index({ majorIds: 1, _id: -1 })
  .index({ ownerId: 1, _id: -1 })
  .index({ geohash: 1 })
  .index({ grams: 1, _id: -1 });

privacy(
  gymSchema,
  retain('the place, not a person; owning one stands in the way of an erasure', '_id', 'name', 'address'),
  retain('likewise', 'description', 'lat', 'lng', 'cityId', 'majorIds', 'isActive', 'showCrowd'),
  retain('likewise', 'workingPeriods.weekday', 'workingPeriods.opensAt', 'workingPeriods.closesAt'),
  retain('likewise', 'crowd.current', 'crowd.capacity', 'visibleTo', 'geohash', 'grams'),
  retain('likewise', 'ratingSum', 'ratingCount', 'version', 'createdAt', 'updatedAt'),
  erase('should the owner be erased all the same, the gym has none', 'ownerId'),
  erase('the document and its review name him', 'license.image', 'license.mediaId', 'license.approved'),
  erase('likewise', 'license.rejectionReason', 'license.reviewedMediaId'),
  retain('so that an older document never comes back', 'license.newestMediaId'),
);

export const gymModel = (connection: Connection): Model<GymDocument> =>
  connection.models.Gym ?? connection.model<GymDocument>('Gym', gymSchema);

/** The fields that a search looks at. */
export const SEARCHED = ['name', 'address', 'description'] as const;

type DerivedFrom = Pick<Gym, 'isActive' | 'ownerId' | 'lat' | 'lng' | (typeof SEARCHED)[number]>;

const visibleTo = ({ isActive, ownerId }: DerivedFrom): number => (isActive ? EVERYONE : (ownerId ?? NOBODY));

const geohash = ({ lat, lng }: DerivedFrom): string | null =>
  lat === null || lng === null ? null : encodeGeohash({ lat, lng });

/** What of a gym is counted (gym-counters.ts). */
export const countedOf = (gym: DerivedFrom): Pick<GymDocument, 'isActive' | 'geohash'> => ({
  isActive: gym.isActive,
  geohash: geohash(gym),
});

const searchFields = (gym: DerivedFrom): Pick<Derived, 'grams'> => ({
  grams: [...new Set(SEARCHED.flatMap((field) => indexGrams(gym[field] ?? '')))],
});

export const toDocument = ({ id, ...gym }: Gym): GymDocument => ({
  _id: id,
  ...gym,
  visibleTo: visibleTo(gym),
  geohash: geohash(gym),
  ...searchFields(gym),
});

/** The stored fields that follow from a change of `gym`, of which `changed` are the fields that changed. */
export const derivedOf = (gym: Gym, changed: readonly string[]): Partial<Derived> => ({
  ...(changed.some((field) => field === 'isActive' || field === 'ownerId')
    ? { visibleTo: visibleTo(gym) }
    : {}),
  ...(changed.some((field) => field === 'lat' || field === 'lng') ? { geohash: geohash(gym) } : {}),
  ...(changed.some((field) => (SEARCHED as readonly string[]).includes(field)) ? searchFields(gym) : {}),
});

/** What is read of a gym: all but the largest of what only serves the indexes. */
export const GYM_PROJECTION = { grams: 0 } as const;

export const toGym = ({ _id, visibleTo: _v, geohash: _g, grams: _r, ...gym }: GymDocument): Gym => ({
  ...gym,
  id: _id,
});
