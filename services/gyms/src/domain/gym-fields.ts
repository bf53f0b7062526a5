/**
 * The fields of a gym that callers can set, each declared once under the name that clients use. The requests, the change of the
 * document, `GymDetails` and the response are derived from this declaration.
 */
import { oneLine, visibleLines } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import { id, idListOrNone, LONG_TEXT_MAX, latitude, longitude, SHORT_TEXT_MAX, text } from './values.ts';

interface Field {
  /** The name in the document (store/gym-document.ts). */
  stored: string;
  /** Description in the API reference, wherever the field appears. */
  description?: string;
  /** Schema in POST /gyms. Without it, a creation cannot set the field. */
  create?: z.ZodType;
  /** Schema in PUT /gyms/{id}. It accepts null, which clears the field. Its output is what is stored. */
  update: z.ZodType;
  /** Schema in the response. Without it, the response shows the field in another form (app/gym-resource.ts). */
  shown?: z.ZodType;
}

const shortText = text(SHORT_TEXT_MAX).min(1);
const gymName = oneLine('Name of the gym', shortText);
const gymAddress = visibleLines('Postal address', shortText);
const longText = text(LONG_TEXT_MAX).nullable();
const flag = z
  .boolean()
  .nullable()
  .transform((value) => value ?? false);
const idOrNull = id.nullable();
const majors = idListOrNone.nullable().transform((ids) => ids ?? []);
const textOrNull = z.string().nullable();
const degreesOrNull = z.number().nullable();

const GYM_FIELDS = {
  name: {
    stored: 'name',
    create: gymName,
    update: gymName.nullable(),
    shown: textOrNull.meta({ description: 'Name of the gym' }),
  },
  address: {
    stored: 'address',
    create: gymAddress,
    update: gymAddress.nullable(),
    shown: textOrNull.meta({ description: 'Postal address' }),
  },
  location_lat: {
    stored: 'lat',
    description: 'Latitude in degrees',
    create: latitude,
    update: latitude.nullable(),
    shown: degreesOrNull,
  },
  location_lng: {
    stored: 'lng',
    description: 'Longitude in degrees',
    create: longitude,
    update: longitude.nullable(),
    shown: degreesOrNull,
  },
  is_active: {
    stored: 'isActive',
    description: 'Whether everyone sees the gym; an inactive gym is hidden from the public',
    create: z.boolean().default(true),
    update: flag,
    shown: z.boolean(),
  },
  description: {
    stored: 'description',
    description: 'What people read about the gym',
    create: longText.optional(),
    update: longText,
    shown: textOrNull,
  },
  show_crowd: {
    stored: 'showCrowd',
    description: 'Whether the gym shows its `crowd`',
    create: z.boolean().default(false),
    update: flag,
    shown: z.boolean(),
  },
  user_id: {
    stored: 'ownerId',
    description: 'User id of the new owner. Requires `gyms.transfer_ownership`.',
    update: idOrNull,
  },
  city_id: {
    stored: 'cityId',
    description: 'Id of the city (`GET /cities`)',
    create: idOrNull.optional(),
    update: idOrNull,
  },
  major_ids: {
    stored: 'majorIds',
    description: 'Ids of the majors (`GET /majors`), separated by commas; `0` for none',
    create: majors.optional(),
    update: majors,
  },
} as const satisfies Record<string, Field>;

type Fields = typeof GYM_FIELDS;
type Name = keyof Fields;

/** The fields under their stored names. */
export type GymDetails = { [N in Name as Fields[N]['stored']]: z.output<Fields[N]['update']> };

/** The schemas of all fields that have `Part`, keyed by the names that clients use. */
type ShapeOf<Part extends keyof Field> = {
  [N in Name as Fields[N] extends Record<Part, z.ZodType> ? N : never]: Fields[N] extends Record<
    Part,
    infer Schema
  >
    ? Schema
    : never;
};

const fields: [string, Field][] = Object.entries(GYM_FIELDS);

const described = ({ description }: Field, schema: z.ZodType): z.ZodType =>
  description === undefined ? schema : schema.meta({ description });

const shapeOf = <Part extends 'create' | 'update' | 'shown'>(part: Part): ShapeOf<Part> =>
  Object.fromEntries(
    fields.flatMap(([name, field]) => {
      const schema = field[part];
      return schema === undefined ? [] : [[name, described(field, schema)]];
    }),
  ) as ShapeOf<Part>;

export const createShape = shapeOf('create');
/** No field is required. */
export const updateShape = z.object(shapeOf('update')).partial().shape;
export const shownShape = shapeOf('shown');

type Sent = { [N in Name]?: z.output<Fields[N]['update']> | undefined };

/** The fields of a request, under their stored names. */
export const toDetails = (sent: Sent): Partial<GymDetails> =>
  Object.fromEntries(
    fields.flatMap(([name, { stored }]) => {
      const value = sent[name as Name];
      return value === undefined ? [] : [[stored, value]];
    }),
  );

type Shown = { [N in keyof typeof shownShape]: GymDetails[Fields[N]['stored']] };

/** The response fields that are shown as stored. */
export const toShown = (details: GymDetails): Shown =>
  Object.fromEntries(
    Object.keys(shownShape).map((name) => [name, details[GYM_FIELDS[name as Name].stored]]),
  ) as Shown;

/** Every field cleared: the default for creations. */
export const CLEARED: GymDetails = Object.fromEntries(
  fields.map(([, { stored, update }]) => [stored, update.parse(null)]),
) as GymDetails;
