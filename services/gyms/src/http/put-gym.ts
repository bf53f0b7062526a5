import {
  LICENSE_REPLACED,
  licenseReplacedSchema,
  reviewedMediaIdField,
} from '@fitness/contracts/license-review.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { nullOnly, withMessage } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import type { GymChange } from '../app/change-gym.ts';
import { toDetails, updateShape } from '../domain/gym-fields.ts';
import { LONG_TEXT_MAX, text } from '../domain/values.ts';
import type { UseCases } from '../use-cases.ts';
import { gymBody, toGymBody } from './gym-body.ts';

const onlyNull = nullOnly(
  z
    .unknown()
    .refine((value) => value === null || value === undefined, withMessage('gyms.license_upload_only')),
)
  .optional()
  .meta({
    description:
      'Only null is accepted: it deletes the license document and resets its review. Upload a document with `POST ' +
      '/media` and the purpose `gym_license`.',
  });

const body = z.object({
  ...updateShape,
  gym_license_image: onlyNull,
  gym_license_approved: z.boolean().nullable().optional().meta({
    description:
      'Review of the license. True: approved. False: rejected. Null: pending. Requires `gyms.approve_license`.',
  }),
  gym_license_rejection_reason: text(LONG_TEXT_MAX)
    .nullable()
    .optional()
    .meta({
      description:
        'Reason for the rejection; null removes it. It may be sent alone. It is ignored if it is empty, or sent with an ' +
        'approval, with a reset to pending, or with a cleared document. Requires `gyms.approve_license`.',
    }),
  gym_license_media_id: reviewedMediaIdField,
});

const toChange = (request: z.output<typeof body>): GymChange => ({
  details: toDetails(request),
  license: {
    clearDocument: request.gym_license_image === null,
    approved: request.gym_license_approved,
    rejectionReason: request.gym_license_rejection_reason,
  },
  reviewedMediaId: request.gym_license_media_id,
});

export const putGymRoute = ({ updateGym, presentGyms }: UseCases): Route =>
  defineRoute({
    method: 'PUT',
    path: '/gyms/:id',
    summary: 'Update a gym',
    description:
      'Changes the fields that you send and leaves the others unchanged; null clears a field. Requires `gyms.update` for ' +
      'your own gym, or `gyms.update_any` for any gym. A new owner (`user_id`) requires `gyms.transfer_ownership`, and ' +
      '`gym_license_approved` and `gym_license_rejection_reason` require `gyms.approve_license`. These fields need nothing ' +
      'else if no other field is sent. The owner is notified when the license changes to approved or rejected. An unknown ' +
      'city, major or owner returns 422 under its field.',
    tag: 'Gyms',
    pages: ['ops'],
    pageFields: ['gym_license_approved', 'gym_license_rejection_reason', 'gym_license_media_id'],
    access: 'user',
    permissions: ['gyms.update', 'gyms.update_any', 'gyms.approve_license', 'gyms.transfer_ownership'],
    fieldPermissions: {
      user_id: 'gyms.transfer_ownership',
      gym_license_approved: 'gyms.approve_license',
      gym_license_rejection_reason: 'gyms.approve_license',
    },
    audits: ['gym.update', 'gym_license.review'],
    params: idParams,
    body,
    errorCodes: { 409: [LICENSE_REPLACED] },
    responses: { 200: gymBody, 409: licenseReplacedSchema },
    handle: async ({ params, body: request, caller, locale }) => {
      const gym = await updateGym(params.id, toChange(request), caller);
      return ok(await toGymBody(presentGyms, gym, { caller, locale }));
    },
  });
