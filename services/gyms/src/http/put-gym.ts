import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams, says } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import type { GymUpdate } from '../app/update-gym.ts';
import { gymBody, toGymBody } from './answer.ts';
import { id, idListOrNone, LONG_TEXT_MAX, latitude, longitude, SHORT_TEXT_MAX, text } from './fields.ts';
import { type HttpParts, TAG } from './parts.ts';

const onlyNull = z
  .unknown()
  .refine((value) => value === null || value === undefined, says('gyms.license_upload_only'))
  .optional()
  .meta({
    override: { type: 'null' },
    description: 'Only null: clears the licence document and its review.',
  });

const body = z.object({
  name: text(SHORT_TEXT_MAX).nullable().optional(),
  address: text(SHORT_TEXT_MAX).nullable().optional(),
  location_lat: latitude.nullable().optional(),
  location_lng: longitude.nullable().optional(),
  is_active: z.boolean().nullable().optional(),
  show_crowd: z.boolean().nullable().optional(),
  description: text(LONG_TEXT_MAX).nullable().optional(),
  user_id: id.nullable().optional(),
  city_id: id.nullable().optional(),
  major_ids: idListOrNone.nullable().optional(),
  gym_license_image: onlyNull,
  gym_license_approved: z.boolean().nullable().optional(),
  gym_license_rejection_reason: text(LONG_TEXT_MAX).nullable().optional(),
});

type Body = z.output<typeof body>;

/** Only what was sent, under our names; null means cleared, false for a switch, none for the majors. */
const toUpdate = (sent: Body): GymUpdate => ({
  details: {
    ...(sent.name === undefined ? {} : { name: sent.name }),
    ...(sent.address === undefined ? {} : { address: sent.address }),
    ...(sent.description === undefined ? {} : { description: sent.description }),
    ...(sent.location_lat === undefined ? {} : { lat: sent.location_lat }),
    ...(sent.location_lng === undefined ? {} : { lng: sent.location_lng }),
    ...(sent.is_active === undefined ? {} : { isActive: sent.is_active ?? false }),
    ...(sent.show_crowd === undefined ? {} : { showCrowd: sent.show_crowd ?? false }),
    ...(sent.user_id === undefined ? {} : { ownerId: sent.user_id }),
    ...(sent.city_id === undefined ? {} : { cityId: sent.city_id }),
    ...(sent.major_ids === undefined ? {} : { majorIds: sent.major_ids ?? [] }),
  },
  license: {
    clearDocument: sent.gym_license_image === null,
    ...(sent.gym_license_approved === undefined ? {} : { approved: sent.gym_license_approved }),
    ...(sent.gym_license_rejection_reason === undefined
      ? {}
      : { rejectionReason: sent.gym_license_rejection_reason }),
  },
});

export const putGym = ({ updateGym, presentGyms }: HttpParts): Route =>
  defineRoute({
    method: 'PUT',
    path: '/gyms/:id',
    summary: 'Change a gym',
    description:
      'Only the fields that are sent change; null clears one. `gyms.update` for your own gym, `gyms.update_any` for ' +
      'any; `user_id` also needs `gyms.transfer_ownership`, the review fields need `gyms.approve_license`.',
    tag: TAG,
    access: 'user',
    permissions: ['gyms.update', 'gyms.update_any', 'gyms.approve_license'],
    params: idParams,
    body,
    responses: { 200: gymBody },
    handle: async ({ params, body: sent, caller, locale }) => {
      const gym = await updateGym(params.id, toUpdate(sent), caller);
      return ok(await toGymBody(presentGyms, gym, { caller, locale }));
    },
  });
