/** Query parameters of the lists. */
import { withMessage } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import { kindOf, PROFILE_TYPES, type ProfileKind, type ProfileType } from '../domain/profile.ts';

export const searchQuery = z.string().max(200);
export const priceQuery = z
  .string()
  .refine((value) => /^\d{1,15}$/.test(value), withMessage('validation.type.integer'))
  .transform(Number);

const IDS_MAX = 100;
const ID = /^\d{1,15}$/;
const split = (value: string): string[] => value.split(',').map((part) => part.trim());

/** One or more ids, comma-separated. */
export const idsQuery = z
  .string()
  .refine((value) => split(value).every((part) => ID.test(part)), withMessage('validation.type.integer'))
  .refine((value) => split(value).length <= IDS_MAX, withMessage('validation.max_items', { max: IDS_MAX }))
  .transform((value) => [...new Set(split(value).map(Number))]);

const isProfileType = (value: string): value is ProfileType =>
  (PROFILE_TYPES as readonly string[]).includes(value);

/** One or more profile types, comma-separated. */
export const profileTypesQuery = z
  .string()
  .refine(
    (value) => split(value).every(isProfileType),
    withMessage('validation.one_of', { values: PROFILE_TYPES.join(', ') }),
  )
  .transform((value): ProfileKind[] => [...new Set(split(value).filter(isProfileType).map(kindOf))]);
