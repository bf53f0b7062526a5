import { requestsReview } from '@fitness/contracts/license.ts';
import {
  LICENSE_REPLACED,
  licenseReplacedSchema,
  reviewedMediaIdField,
} from '@fitness/contracts/license-review.ts';
import { userSchema } from '@fitness/contracts/user.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { wellFormed } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import { profileShape } from '../domain/account-fields.ts';
import type { UseCases } from '../use-cases.ts';

const body = z.object({
  ...profileShape,
  role_ids: z.array(z.int().positive()).max(100).optional().meta({
    description: 'Ids of all roles of the user; they replace the current ones',
  }),
  trainer_license_approved: z.boolean().nullable().optional().meta({
    description: 'Review of the license. True: approved. False: rejected. Null: pending.',
  }),
  trainer_license_rejection_reason: wellFormed(z.string().trim().max(2_000))
    .nullable()
    .optional()
    .meta({
      description:
        'Reason for the rejection; null removes it. It may be sent alone. It is ignored if it is empty, or sent with ' +
        'an approval, with a reset to pending, or with a cleared document.',
    }),
  trainer_license_media_id: reviewedMediaIdField,
});

export const putUserRoute = ({
  updateUser,
  reviewLicense,
  findInvalidFields,
  presentUser,
}: UseCases): Route =>
  defineRoute({
    method: 'PUT',
    path: '/users/:id',
    summary: 'Update a user',
    description:
      'Changes the fields that you send and leaves the others as they are. Requires `users.update_any`. The ' +
      'account of another operator, and adding or removing any role but `member`, also require `roles.manage`.\n\n' +
      '`trainer_license_approved` and `trainer_license_rejection_reason` review the trainer license. A review is ' +
      'ignored when the same request clears the license document. Approving or rejecting without a document is ' +
      '422 under `trainer_license_approved`.\n\n' +
      'Returns 403:\n\n' +
      '- for an account or a role with a permission that you lack.\n' +
      '- for a new username, email address, phone number or bank account, unless you use a session token.\n' +
      '- for a new email address, phone number or bank account of your own account. Use `PUT /auth/me` ' +
      'instead.\n\n' +
      'Returns 409 when nobody could manage roles any more, or when another document than that of ' +
      '`trainer_license_media_id` is there.',
    tag: 'users',
    pages: ['ops'],
    pageFields: [
      'role_ids',
      'trainer_license_approved',
      'trainer_license_rejection_reason',
      'trainer_license_media_id',
    ],
    access: 'user',
    permissions: ['users.update_any'],
    audits: ['user.update', 'user.assign_roles', 'trainer_license.review'],
    params: idParams,
    errorCodes: { 409: [LICENSE_REPLACED] },
    body,
    checkBody: (fields, { params }) => findInvalidFields(fields, params.id),
    responses: {
      200: z.object({ user: userSchema }),
      // Without a code when nobody could manage roles any more.
      409: licenseReplacedSchema.partial({ code: true }).meta({ id: 'UserConflict' }),
    },
    handle: async ({ caller, params, body, locale }) => {
      const {
        trainer_license_image: image,
        trainer_license_approved: approved,
        trainer_license_rejection_reason: rejectionReason,
        trainer_license_media_id: reviewedMediaId,
        ...changes
      } = body;
      const license = { clearDocument: image === null, approved, rejectionReason, reviewedMediaId };
      const isReview = requestsReview(license) && !license.clearDocument && Object.keys(changes).length === 0;
      const user = await (isReview
        ? reviewLicense(caller, params.id, license)
        : updateUser(caller, params.id, { ...changes, license }, locale));
      return ok({ user: await presentUser(user, caller) });
    },
  });
