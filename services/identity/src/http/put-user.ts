import { licenseReplacedSchema, reviewedMediaIdField } from '@fitness/contracts/license-review.ts';
import { userSchema } from '@fitness/contracts/user.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { wellFormed } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import { profileShape } from '../domain/account-fields.ts';
import type { UseCases } from '../use-cases.ts';

export const putUserRoute = ({
  updateUser,
  presentUser,
}: Pick<UseCases, 'updateUser' | 'presentUser'>): Route =>
  defineRoute({
    method: 'PUT',
    path: '/users/:id',
    summary: 'Update a user',
    description:
      'Updates the fields that are sent; the others stay as they are. Requires `users.update_any`. The account of ' +
      'another operator, and adding or removing any role but `member`, also require `roles.manage`.\n\n' +
      '`trainer_license_approved` and `trainer_license_rejection_reason` review the trainer license. A reason alone is ' +
      'stored, and null clears it; an empty reason, and one with an approval or a reset, are ignored. A review is ' +
      'ignored when the same request clears the license document. When `trainer_license_media_id` names another ' +
      'document than the current one, the response is 409 and nothing changes.\n\n' +
      'Returns 403 for an account or a role with a permission that you lack, and for a new username, email address, ' +
      'phone number or bank account unless you use a session token. The email address, phone number and bank account ' +
      'of your own account can only be changed with `PUT /auth/me`. Returns 409 when nobody could manage roles any more.',
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
    body: z.object({
      ...profileShape,
      role_ids: z.array(z.int().positive()).max(100).optional().meta({
        description: 'Ids of all roles of the user; they replace the current ones',
      }),
      trainer_license_approved: z.boolean().nullable().optional().meta({
        description: 'True approves the license, false rejects it, and null resets the review.',
      }),
      trainer_license_rejection_reason: wellFormed(z.string().trim().max(2_000))
        .nullable()
        .optional()
        .meta({ description: 'Reason for a rejection; null clears it' }),
      trainer_license_media_id: reviewedMediaIdField,
    }),
    responses: {
      200: z.object({ user: userSchema }),
      // Without a code: nobody could manage roles any more.
      409: licenseReplacedSchema.partial({ code: true }).meta({ id: 'UserConflict' }),
    },
    handle: async ({ caller, params, body, locale }) => {
      const user = await updateUser(caller, params.id, body, locale);
      return ok({ user: await presentUser(user, caller) });
    },
  });
