/**
 * The stored gym: its fields, and fields derived from them for the indexes. Unlike in other services, stored names are camelCase,
 * because released versions stored them that way. domain/gym-fields.ts maps the names in the API to them.
 */

import { NO_LICENSE } from '@fitness/contracts/license.ts';
import { NO_MEDIA } from '@fitness/contracts/media-copy.ts';
import type { ListRow } from '@fitness/shared/lists/list.ts';
import { type TextDocument, textSchema } from '@fitness/shared/lists/texts.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { erase, personalFieldsOf, retain, schemaOf } from '@fitness/shared/mongo/privacy.ts';
import { defaultsOf } from '@fitness/shared/mongo/stored-defaults.ts';
import { type Connection, type Model, type QueryFilter, Schema, trusted } from 'mongoose';
import { type Boost, type BoostState, NEVER_BOOSTED } from '../domain/boost.ts';
import { encodeGeohash } from '../domain/geohash.ts';
import type { Gym } from '../domain/gym.ts';

/** Value of `visibleTo` for an active gym. */
export const EVERYONE = 0;
/** Value of `visibleTo` for an inactive gym without an owner. */
export const NOBODY = -1;

interface Derived {
  /** 0 for an active gym, else the owner's id or -1. One index then serves "active, or owned by this user". */
  visibleTo: number;
  /** Null without latitude or longitude. */
  geohash: string | null;
}

export type GymDocument = Omit<Gym, 'id'> & Derived & BoostState & { _id: number; boosts: Boost[] };

const period = {
  weekday: { type: Number, required: true },
  opensAt: { type: String, required: true },
  closesAt: { type: String, required: true },
} as const;

const boost = {
  id: { type: Number, required: true },
  level: { type: Number, required: true },
  // Older releases stored no start.
  startsAt: Date,
  endsAt: { type: Date, required: true },
  version: { type: Number, required: true },
} as const;

const gymSchema = schemaOf<GymDocument>(
  {
    collection: 'gyms',
    versionKey: false,
    minimize: false,
    nested: {
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
            // Stored only by earlier releases: the document that was reviewed, which is always `mediaId`.
            reviewedMediaId: Number,
            reviewedName: { type: String, default: null },
            newestMediaId: { type: Number, default: 0 },
          },
          { _id: false },
        ),
        required: true,
      },
      boosts: { type: [new Schema(boost, { _id: false })], default: [] },
    },
  },
  retain(
    'data of a place, not of a person',
    {
      _id: { type: Number, required: true },
      name: { type: String, default: null },
      address: { type: String, default: null },
      description: { type: String, default: null },
      lat: { type: Number, default: null },
      lng: { type: Number, default: null },
      cityId: { type: Number, default: null },
      majorIds: { type: [Number], default: [] },
      isActive: { type: Boolean, default: false },
      showCrowd: { type: Boolean, default: false },
    },
    'workingPeriods.weekday',
    'workingPeriods.opensAt',
    'workingPeriods.closesAt',
    'crowd.current',
    'crowd.capacity',
    { visibleTo: { type: Number, required: true }, geohash: { type: String, default: null } },
    'boosts.id',
    'boosts.level',
    'boosts.startsAt',
    'boosts.endsAt',
    'boosts.version',
    {
      boostedUntil: { type: Date, required: true },
      boostLevel: { type: Number, required: true },
      boost: { type: Schema.Types.Mixed, default: null },
      ratingSum: { type: Number, required: true },
      ratingCount: { type: Number, required: true },
      version: { type: Number, required: true },
      createdAt: { type: Date, required: true },
      updatedAt: { type: Date, required: true },
    },
  ),
  retain('the public files of a place remain', { media: Schema.Types.Mixed }),
  erase('a gym of an erased account has no owner', { ownerId: { type: Number, default: null } }),
  erase(
    'the document and its review name a person',
    'license.image',
    'license.mediaId',
    'license.approved',
    'license.rejectionReason',
    'license.reviewedMediaId',
    'license.reviewedName',
  ),
  retain('an older document must not become the license again', 'license.newestMediaId'),
)
  .index({ visibleTo: 1, _id: -1 })
  .index({ isActive: 1, _id: -1 })
  .index({ cityId: 1, _id: -1 })
  .index({ majorIds: 1, _id: -1 })
  .index({ ownerId: 1, _id: -1 })
  .index({ geohash: 1 })
  .index({ boostedUntil: 1 })
  .index({ 'license.mediaId': 1, 'license.approved': 1 })
  .index(
    { 'license.reviewedName': 1 },
    { partialFilterExpression: { 'license.reviewedName': { $gte: '' } } },
  );

/** The grams of each searched field: no match spans two fields. */
const gymTextSchema = textSchema('gyms_texts', retain, 'data of a place, not of a person');

export const isPersonalGymField = personalFieldsOf(gymSchema);

export const gymModel = (connection: Connection): Model<GymDocument> =>
  connection.models.Gym ?? connection.model<GymDocument>('Gym', gymSchema);

export const gymTextModel = (connection: Connection): Model<TextDocument> =>
  connection.models.GymText ?? connection.model<TextDocument>('GymText', gymTextSchema);

/** The fields that a search covers. */
export const SEARCHED = ['name', 'address', 'description'] as const;

type DerivedFrom = Pick<Gym, 'isActive' | 'ownerId' | 'lat' | 'lng' | (typeof SEARCHED)[number]>;

const visibleTo = ({ isActive, ownerId }: DerivedFrom): number => (isActive ? EVERYONE : (ownerId ?? NOBODY));

const geohash = ({ lat, lng }: DerivedFrom): string | null =>
  lat === null || lng === null ? null : encodeGeohash({ lat, lng });

/** The fields that decide which counter a gym belongs to; for counters.ts. */
export const countedOf = (gym: DerivedFrom): Pick<GymDocument, 'isActive' | 'geohash'> => ({
  isActive: gym.isActive,
  geohash: geohash(gym),
});

export const textsOf = (gym: Pick<DerivedFrom, (typeof SEARCHED)[number]>): string[] =>
  SEARCHED.map((field) => gym[field] ?? '');

export const toDocument = ({ id, ...gym }: Gym): GymDocument => ({
  _id: id,
  ...gym,
  visibleTo: visibleTo(gym),
  geohash: geohash(gym),
  boosts: [],
  ...NEVER_BOOSTED,
});

/** The derived fields of `gym` that a change of the fields `changed` affects. */
export const derivedOf = (gym: Gym, changed: readonly string[]): Partial<Derived> => ({
  ...(changed.some((field) => field === 'isActive' || field === 'ownerId')
    ? { visibleTo: visibleTo(gym) }
    : {}),
  ...(changed.some((field) => field === 'lat' || field === 'lng') ? { geohash: geohash(gym) } : {}),
});

/** Fields that are stored only for indexes and lists. */
const UNSHOWN = ['visibleTo', 'geohash', 'boosts', 'boostLevel'] as const;

/** Leaves out the boosts, which may be many, and fields that only earlier releases stored. */
export const GYM_PROJECTION = { boosts: 0, 'license.reviewedMediaId': 0 } as const;

const DEFAULTS = defaultsOf(gymSchema);

export const toGym = ({ _id, ...stored }: GymDocument): Gym => {
  const gym: Partial<typeof stored> = { ...DEFAULTS, ...stored };
  for (const field of UNSHOWN) delete gym[field];
  // Older releases stored no media, no boosts, and not every field of the license.
  const { media = NO_MEDIA, boostedUntil = NEVER_BOOSTED.boostedUntil } = gym;
  const license = { ...NO_LICENSE, ...stored.license };
  return { ...(gym as Omit<Gym, 'id'>), license, media, boostedUntil, id: _id };
};

/** Reads a row of a list, which has every field of a gym. */
export const toGymRow = (row: ListRow): Gym => toGym(row as unknown as GymDocument);

export const readGyms = async (
  gyms: Model<GymDocument>,
  filter: QueryFilter<GymDocument>,
  session?: ClientSession,
  limit?: number,
): Promise<Gym[]> => {
  const options = { ...(session && { session }), ...(limit !== undefined && { limit }) };
  const documents = await gyms.find(filter, GYM_PROJECTION, options).lean<GymDocument[]>();
  return documents.map(toGym);
};

export const readGymsById = async (gyms: Model<GymDocument>, ids: readonly number[]): Promise<Gym[]> =>
  ids.length === 0 ? [] : readGyms(gyms, { _id: trusted({ $in: [...ids] }) });
