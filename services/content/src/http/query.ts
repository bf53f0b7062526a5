/** Query parameters for lists. */
import { queryIds, queryInteger, queryList } from '@fitness/shared/http/validation.ts';
import { withMessage } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import { isProfileType, kindOf, type ProfileKind, REQUEST_PROFILE_TYPES } from '../domain/profile.ts';

export const searchQuery = z.string().max(200);
export const priceQuery = queryInteger(Number.MAX_SAFE_INTEGER);

/** One or more ids, comma-separated. */
export const idsQuery = queryIds({ max: 100, minimum: 0 });

const split = (value: string): string[] => value.split(',').map((part) => part.trim());

/** One or more profile types, comma-separated. */
const profileTypes = z
  .string()
  .refine(
    (value) => split(value).every(isProfileType),
    withMessage('validation.one_of', { values: REQUEST_PROFILE_TYPES.join(', ') }),
  )
  .transform((value): ProfileKind[] => [...new Set(split(value).filter(isProfileType).map(kindOf))]);
export const profileTypesQuery = queryList(profileTypes, {
  items: { type: 'string', enum: REQUEST_PROFILE_TYPES },
});
