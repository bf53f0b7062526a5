/** Query parameters for lists. */
import { queryIds, queryInteger, queryList } from '@fitness/shared/http/validation.ts';
import { withMessage } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import { kindOf, PROFILE_TYPES, type ProfileKind, type ProfileType } from '../domain/profile.ts';

export const searchQuery = z.string().max(200);
export const priceQuery = queryInteger(Number.MAX_SAFE_INTEGER);

/** One or more ids, comma-separated. */
export const idsQuery = queryIds({ max: 100, minimum: 0 });

const isProfileType = (value: string): value is ProfileType =>
  (PROFILE_TYPES as readonly string[]).includes(value);

const split = (value: string): string[] => value.split(',').map((part) => part.trim());

/** One or more profile types, comma-separated. */
const profileTypes = z
  .string()
  .refine(
    (value) => split(value).every(isProfileType),
    withMessage('validation.one_of', { values: PROFILE_TYPES.join(', ') }),
  )
  .transform((value): ProfileKind[] => [...new Set(split(value).filter(isProfileType).map(kindOf))]);
export const profileTypesQuery = queryList(profileTypes, { items: { type: 'string', enum: PROFILE_TYPES } });
