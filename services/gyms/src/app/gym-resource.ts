/** The gym, city and major resources (specification 2.5). */

import { boostSchema } from '@fitness/contracts/boost.ts';
import { mediaSchema } from '@fitness/contracts/media.ts';
import { toMediaResources } from '@fitness/contracts/media-copy.ts';
import { MODEL } from '@fitness/contracts/model-names.ts';
import { timestampSchema } from '@fitness/contracts/timestamp.ts';
import type { Caller } from '@fitness/shared/kernel/caller.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { DEFAULT_LOCALE, type Locale } from '@fitness/shared/kernel/i18n/translate.ts';
import { z } from 'zod';
import type { Dependencies } from '../dependencies.ts';
import { crowdLevel, type Gym, ratingAverage, seesAllOf } from '../domain/gym.ts';
import { shownShape, toShown } from '../domain/gym-fields.ts';
import type { LocalizedName, MajorRow } from '../domain/reference-data.ts';
import { workingStatus } from '../domain/working-periods.ts';
import type { City } from '../store/reference-data.ts';

export const citySchema = z
  .object({
    id: z.int(),
    name: z.string().meta({ description: 'Name of the city' }),
    state: z
      .object({ id: z.int(), name: z.string().meta({ description: 'Name of the state' }) })
      .meta({ id: 'State', description: 'A state of the country' }),
  })
  .meta({ id: 'City', description: 'A city, with its state' });

export const majorSchema = z
  .object({ id: z.int(), title: z.string().meta({ description: 'Name of the sport' }) })
  .meta({ id: 'Major', description: 'A major: a sport that gyms offer' });

const crowdSchema = z
  .object({
    current: z.int().meta({ description: 'Number of people in the gym' }),
    capacity: z.int().meta({ description: 'Number of people that the gym has room for' }),
    level: z.enum(['low', 'medium', 'high', 'full']).meta({
      description:
        '`low`: below half of the capacity. `medium`: below four fifths. `high`: below the capacity. `full`: at or above it.',
    }),
  })
  .meta({ id: 'Crowd' });

const workingPeriodSchema = z
  .object({
    weekday: z.int().meta({ description: 'Day of the week: 0 is Saturday, 6 is Friday' }),
    opens_at: z.string().meta({ description: 'Opening time, `HH:MM`' }),
    closes_at: z.string().meta({
      description: 'Closing time, `HH:MM` up to `24:00`; on the next day if it is not after the opening time',
    }),
  })
  .meta({ id: 'WorkingPeriod' });

const workingStatusSchema = z
  .object({
    is_open: z.boolean().meta({ description: 'Whether the gym is open now' }),
    changes_at: timestampSchema
      .nullable()
      .meta({ description: 'When `is_open` changes; null if it never does' }),
  })
  .meta({ id: 'WorkingStatus' });

const FOR_OWNERS = 'Present only for the owner and holders of `gyms.view_all`.';

/** Absent for everyone else. */
const ownerFields = {
  user_id: z
    .int()
    .nullable()
    .optional()
    .meta({ description: `User id of the owner; null without one. ${FOR_OWNERS}` }),
  gym_license_image: z
    .string()
    .nullable()
    .optional()
    .meta({ description: `File name of the license document. ${FOR_OWNERS}` }),
  gym_license_link: z
    .string()
    .nullable()
    .optional()
    .meta({ description: `Download path of the license document. Null without a document. ${FOR_OWNERS}` }),
  gym_license_approved: z
    .boolean()
    .nullable()
    .optional()
    .meta({
      description: `True: approved. False: rejected. Null: the review is pending. ${FOR_OWNERS}`,
    }),
  gym_license_rejection_reason: z
    .string()
    .nullable()
    .optional()
    .meta({ description: `Why the license was rejected. ${FOR_OWNERS}` }),
};

export const gymSchema = z
  .object({
    id: z.int(),
    ...shownShape,
    created_at: timestampSchema,
    updated_at: timestampSchema,
    crowd: crowdSchema.nullable().meta({
      description: 'How crowded the gym is; null if `show_crowd` is false or nothing has been reported',
    }),
    city: citySchema.nullable().meta({ description: 'City of the gym; null if none is set' }),
    majors: z.array(majorSchema).meta({ description: 'Sports that the gym offers' }),
    working_periods: z
      .array(workingPeriodSchema)
      .meta({ description: 'When the gym is open, in the local time of Tehran' }),
    working_status: workingStatusSchema
      .nullable()
      .meta({ description: 'Whether the gym is open; null if it has no working periods' }),
    boost: boostSchema.nullable().meta({ description: 'Active boost; null without one' }),
    media: z.array(mediaSchema).meta({ description: 'Public files of the gym' }),
    rating_count: z.int().meta({ description: 'Number of ratings' }),
    rating_average: z.number().meta({ description: 'Average of the ratings; 0 without ratings' }),
    ...ownerFields,
  })
  .meta({ id: 'Gym', description: 'A gym, as the caller may see it' });

export type GymResource = z.output<typeof gymSchema>;
export type CityResource = z.output<typeof citySchema>;
export type MajorResource = z.output<typeof majorSchema>;

export interface Reader {
  isList?: boolean;
  caller: Caller;
  locale: Locale;
}

/** A row that an older release stored may lack a newer language. */
const nameIn = (name: LocalizedName, locale: Locale): string => name[locale] ?? name[DEFAULT_LOCALE] ?? '';

export const toCity = ({ id, name, state }: City, locale: Locale): CityResource => ({
  id,
  name: nameIn(name, locale),
  state: { id: state.id, name: nameIn(state.name, locale) },
});

export const toMajor = ({ id, title }: MajorRow, locale: Locale): MajorResource => ({
  id,
  title: nameIn(title, locale),
});

const licenseLink = ({ mediaId, image }: Gym['license']): string | null =>
  mediaId === null || image === null ? null : `/api/v1/media/${mediaId}/${encodeURIComponent(image)}`;

const ownerFieldsOf = (gym: Gym) => ({
  user_id: gym.ownerId,
  gym_license_image: gym.license.image,
  gym_license_link: licenseLink(gym.license),
  gym_license_approved: gym.license.approved,
  gym_license_rejection_reason: gym.license.rejectionReason,
});

/**
 * Presents gyms in the given order. What they embed is fetched for all of them at once. A list (`isList`) shows the copies of
 * boosts, by which it is sorted.
 */
export const createPresentGyms =
  (dependencies: Pick<Dependencies, 'store' | 'baseUrl' | 'boosts' | 'clock'>) =>
  async (gyms: readonly Gym[], { caller, locale, isList = false }: Reader): Promise<GymResource[]> => {
    const { store, clock, baseUrl } = dependencies;
    const now = clock.now();
    const [cities, majors, boosts] = await Promise.all([
      store.referenceData.cities(gyms.flatMap((gym) => gym.cityId ?? [])),
      store.referenceData.majors(gyms.flatMap((gym) => gym.majorIds)),
      dependencies.boosts.show('gym', gyms, { now, isList }),
    ]);
    return gyms.map((gym) => {
      const city = gym.cityId === null ? undefined : cities.get(gym.cityId);
      const crowd = gym.showCrowd ? gym.crowd : null;
      return {
        id: gym.id,
        ...toShown(gym),
        created_at: formatTimestamp(gym.createdAt),
        updated_at: formatTimestamp(gym.updatedAt),
        crowd: crowd && { ...crowd, level: crowdLevel(crowd) },
        city: city === undefined ? null : toCity(city, locale),
        majors: gym.majorIds
          .map((id) => majors.get(id))
          .filter((major) => major !== undefined)
          .map((major) => toMajor(major, locale)),
        working_periods: gym.workingPeriods.map(({ weekday, opensAt, closesAt }) => ({
          weekday,
          opens_at: opensAt,
          closes_at: closesAt,
        })),
        working_status: workingStatus(gym.workingPeriods, now),
        boost: boosts.get(gym.id) ?? null,
        media: toMediaResources(MODEL.gym, gym.id, gym.media, baseUrl),
        rating_count: gym.ratingCount,
        rating_average: ratingAverage(gym),
        ...(seesAllOf(gym, caller) ? ownerFieldsOf(gym) : {}),
      };
    });
  };

export type PresentGyms = ReturnType<typeof createPresentGyms>;

export const presentGym = async (present: PresentGyms, gym: Gym, reader: Reader): Promise<GymResource> => {
  const [resource] = await present([gym], reader);
  if (resource === undefined) throw new Error('no resource for the gym');
  return resource;
};
