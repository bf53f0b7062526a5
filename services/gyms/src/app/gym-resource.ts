/** The gym as it leaves us (specification 2.5, contract 4). */
import type { Caller } from '@fitness/shared/caller.ts';
import { formatTimestamp } from '@fitness/shared/clock.ts';
import type { Locale } from '@fitness/shared/i18n/translate.ts';
import { boostSchema } from '@fitness/shared/resources/boost.ts';
import { mediaSchema } from '@fitness/shared/resources/media.ts';
import { z } from 'zod';
import { crowdLevel, type Gym, ratingAverage, seesAllOf } from '../domain/gym.ts';
import type { LocalizedName, MajorRow } from '../domain/reference-data.ts';
import { workingStatus } from '../domain/working-periods.ts';
import type { City } from '../store/reference-store.ts';
import type { Parts } from './parts.ts';

export const citySchema = z
  .object({ id: z.int(), name: z.string(), state: z.object({ id: z.int(), name: z.string() }) })
  .meta({ id: 'City' });

export const majorSchema = z.object({ id: z.int(), title: z.string() }).meta({ id: 'Major' });

const crowdSchema = z.object({
  current: z.int(),
  capacity: z.int(),
  level: z.enum(['low', 'medium', 'high', 'full']),
});

/** Seen by the owner and by holders of `gyms.view_all`; absent for everyone else. */
const ownerFields = {
  user_id: z.int().nullable().optional(),
  gym_license_image: z.string().nullable().optional(),
  gym_license_link: z.string().nullable().optional(),
  gym_license_approved: z.boolean().nullable().optional(),
  gym_license_rejection_reason: z.string().nullable().optional(),
};

export const gymSchema = z
  .object({
    id: z.int(),
    name: z.string().nullable(),
    address: z.string().nullable(),
    location_lat: z.number().nullable(),
    location_lng: z.number().nullable(),
    is_active: z.boolean(),
    description: z.string().nullable(),
    created_at: z.string(),
    updated_at: z.string(),
    show_crowd: z.boolean(),
    crowd: crowdSchema.nullable(),
    city: citySchema.nullable(),
    majors: z.array(majorSchema),
    working_periods: z.array(z.object({ weekday: z.int(), opens_at: z.string(), closes_at: z.string() })),
    working_status: z.object({ is_open: z.boolean(), changes_at: z.string().nullable() }).nullable(),
    boost: boostSchema.nullable(),
    media: z.array(mediaSchema),
    rating_count: z.int(),
    rating_average: z.number(),
    ...ownerFields,
  })
  .meta({ id: 'Gym' });

export type GymResource = z.output<typeof gymSchema>;
export type CityResource = z.output<typeof citySchema>;
export type MajorResource = z.output<typeof majorSchema>;

export interface Reader {
  caller: Caller;
  locale: Locale;
}

const nameIn = (name: LocalizedName, locale: Locale): string => name[locale];

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

/** Gyms as resources, in the order given; what they embed is fetched for all of them together. */
export type PresentGyms = (gyms: readonly Gym[], reader: Reader) => Promise<GymResource[]>;

export const createPresentGyms =
  ({ reference, extras, clock }: Pick<Parts, 'reference' | 'extras' | 'clock'>): PresentGyms =>
  async (gyms, { caller, locale }) => {
    const ids = gyms.map((gym) => gym.id);
    const [cities, majors, boosts, media] = await Promise.all([
      reference.cities(gyms.flatMap((gym) => gym.cityId ?? [])),
      reference.majors(gyms.flatMap((gym) => gym.majorIds)),
      extras.boosts(ids),
      extras.media(ids),
    ]);
    const now = clock.now();
    return gyms.map((gym) => {
      const city = gym.cityId === null ? undefined : cities.get(gym.cityId);
      const crowd = gym.showCrowd ? gym.crowd : null;
      return {
        id: gym.id,
        name: gym.name,
        address: gym.address,
        location_lat: gym.lat,
        location_lng: gym.lng,
        is_active: gym.isActive,
        description: gym.description,
        created_at: formatTimestamp(gym.createdAt),
        updated_at: formatTimestamp(gym.updatedAt),
        show_crowd: gym.showCrowd,
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
        media: media.get(gym.id) ?? [],
        rating_count: gym.ratingCount,
        rating_average: ratingAverage(gym),
        ...(seesAllOf(gym, caller) ? ownerFieldsOf(gym) : {}),
      };
    });
  };

/** One gym as a resource. */
export const presentGym = async (present: PresentGyms, gym: Gym, reader: Reader): Promise<GymResource> => {
  const [resource] = await present([gym], reader);
  if (resource === undefined) throw new Error('one gym in, no resource out');
  return resource;
};
