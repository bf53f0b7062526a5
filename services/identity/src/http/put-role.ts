import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams, wellFormed } from '@fitness/shared/http/validation.ts';
import { PERMISSIONS } from '@fitness/shared/permissions.ts';
import { roleSchema } from '@fitness/shared/resources/user.ts';
import { z } from 'zod';
import type { ManageRoles } from '../app/manage-roles.ts';
import { toRole } from '../app/user-resource.ts';

export const putRole = (manageRoles: ManageRoles): Route =>
  defineRoute({
    method: 'PUT',
    path: '/roles/:id',
    summary: 'Change a role',
    description:
      'It holds for everyone with the role from the next request on. 403 for a permission that the caller lacks. Administrators keep every permission: 409.',
    tag: 'roles',
    access: 'user',
    permissions: ['roles.manage'],
    mayRefuse: [409],
    params: idParams,
    body: z.object({
      title: wellFormed(z.string().trim().min(1).max(100)).optional(),
      permissions: z.array(z.enum(PERMISSIONS)).max(PERMISSIONS.length).optional(),
    }),
    responses: { 200: z.object({ data: roleSchema }) },
    handle: async ({ caller, params, body }) => {
      const role = await manageRoles.update(caller, params.id, body);
      return ok({ data: toRole(role) });
    },
  });
