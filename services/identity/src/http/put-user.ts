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
    summary: 'Change an account as an operator',
    description:
      'Only the given fields change. A rejection reason alone is stored, null clears it; empty, or beside an approval or a reset, it is ignored. A review is ignored when the license document is cleared in the same request. A request that names the license document by `trainer_license_media_id` changes nothing when another one is there by now: 409. 403 for an account or a role with a permission that the caller lacks, and for another user name, e-mail, phone or bank account unless the token is a session. The account of another operator, and any change of `role_ids` but of the role `member`, need `roles.manage`; `role_ids` as they are pass.',
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
      role_ids: z.array(z.int().positive()).max(100).optional(),
      trainer_license_approved: z.boolean().nullable().optional(),
      trainer_license_rejection_reason: wellFormed(z.string().trim().max(2_000)).nullable().optional(),
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
