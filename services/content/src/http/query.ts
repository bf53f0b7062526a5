/** Query parameters of the lists. */
import { ID_SCHEMA, queryInteger, queryList } from '@fitness/shared/http/validation.ts';
import { withMessage } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import { kindOf, PROFILE_TYPES, type ProfileKind, type ProfileType } from '../domain/profile.ts';

export const searchQuery = z.string().max(200);
export const priceQuery = queryInteger(Number.MAX_SAFE_INTEGER);

const IDS_MAX = 100;
const ID_MAX = Number.MAX_SAFE_INTEGER;
const split = (value: string): string[] => value.split(',').map((part) => part.trim());

/** One or more ids, comma-separated. */
const ids = z
  .string()
  .refine((value) => split(value).every((part) => /^\d+$/.test(part)), {
    ...withMessage('validation.type.integer'),
    abort: true,
  })
  .refine(
    (value) => split(value).every((part) => Number(part) <= ID_MAX),
    withMessage('validation.max_value', { max: ID_MAX }),
  )
  .refine((value) => split(value).length <= IDS_MAX, withMessage('validation.max_items', { count: IDS_MAX }))
  .transform((value) => [...new Set(split(value).map(Number))]);
export const idsQuery = queryList(ids, { items: { ...ID_SCHEMA, minimum: 0 }, max: IDS_MAX });

const isProfileType = (value: string): value is ProfileType =>
  (PROFILE_TYPES as readonly string[]).includes(value);

/** One or more profile types, comma-separated. */
const profileTypes = z
  .string()
  .refine(
    (value) => split(value).every(isProfileType),
    withMessage('validation.one_of', { values: PROFILE_TYPES.join(', ') }),
  )
  .transform((value): ProfileKind[] => [...new Set(split(value).filter(isProfileType).map(kindOf))]);
export const profileTypesQuery = queryList(profileTypes, { items: { type: 'string', enum: PROFILE_TYPES } });
