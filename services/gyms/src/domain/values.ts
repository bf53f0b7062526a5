/** Schemas of single values that clients send. */
import { wellFormed, withMessage } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';

export const SHORT_TEXT_MAX = 255;
export const LONG_TEXT_MAX = 2_000;
const ID_LIST_MAX = 500;

/** Text of at most `max` code points (not UTF-16 units). Half a surrogate pair is refused. */
export const text = (max: number) =>
  wellFormed(z.string())
    .refine(
      (value) => value.length <= max || Array.from(value).length <= max,
      withMessage('validation.max_length', { count: max }),
    )
    .meta({ maxLength: max });

/** Degrees. */
export const latitude = z.number().min(-90).max(90);
/** Degrees. */
export const longitude = z.number().min(-180).max(180);

export const id = z.int().positive();

const ID_LIST = /^\s*[1-9]\d*\s*(,\s*[1-9]\d*\s*)*$/;

const parseIds = (value: string): number[] => [
  ...new Set(value.split(',').map((part) => Number(part.trim()))),
];

const idsOf = (isNone: (value: string) => boolean) =>
  z
    .string()
    .max(ID_LIST_MAX)
    .refine((value) => isNone(value) || ID_LIST.test(value), {
      ...withMessage('validation.format'),
      abort: true,
    })
    .transform((value) => (isNone(value) ? [] : parseIds(value)))
    .refine(
      (ids) => ids.every(Number.isSafeInteger),
      withMessage('validation.max_value', { max: Number.MAX_SAFE_INTEGER }),
    );

/** Comma-separated ids, e.g. `1,4`. */
export const idList = idsOf(() => false);

/** Like {@link idList}, but `0` stands for none. */
export const idListOrNone = idsOf((value) => value.trim() === '0');
