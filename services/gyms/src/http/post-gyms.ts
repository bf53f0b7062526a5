import { created, defineRoute, type Route } from '@fitness/shared/http/define-route.ts';
import { z } from 'zod';
import { gymBody, toGymBody } from './answer.ts';
import { id, idListOrNone, LONG_TEXT_MAX, latitude, longitude, SHORT_TEXT_MAX, text } from './fields.ts';
import { type HttpParts, TAG } from './parts.ts';

const body = z.object({
  name: text(SHORT_TEXT_MAX).min(1),
  address: text(SHORT_TEXT_MAX).min(1),
  location_lat: latitude,
  location_lng: longitude,
  description: text(LONG_TEXT_MAX).nullable().optional(),
  is_active: z.boolean().default(true),
  show_crowd: z.boolean().default(false),
  city_id: id.nullable().optional(),
  major_ids: idListOrNone.nullable().optional(),
});

export const postGyms = ({ createGym, presentGyms }: HttpParts): Route =>
  defineRoute({
    method: 'POST',
    path: '/gyms',
    summary: 'Create a gym of your own',
    tag: TAG,
    access: 'user',
    permissions: ['gyms.create'],
    body,
    responses: { 201: gymBody },
    handle: async ({ body: sent, caller, locale }) => {
      const gym = await createGym(
        {
          name: sent.name,
          address: sent.address,
          description: sent.description ?? null,
          lat: sent.location_lat,
          lng: sent.location_lng,
          isActive: sent.is_active,
          showCrowd: sent.show_crowd,
          cityId: sent.city_id ?? null,
          majorIds: sent.major_ids ?? [],
        },
        caller,
      );
      return created(await toGymBody(presentGyms, gym, { caller, locale }));
    },
  });
