import { roleSchema } from '@fitness/contracts/user.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { PERMISSIONS } from '@fitness/shared/kernel/permissions.ts';
import { oneLine } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import { toRole } from '../app/roles/role-resource.ts';
import type { UseCases } from '../use-cases.ts';

export const putRoleRoute = ({ updateRole }: UseCases): Route =>
  defineRoute({
    method: 'PUT',
    path: '/roles/:id',
    summary: 'Update a role',
    description:
      'Updates the title and the permissions of a role. They apply to every account with the role from its next request on. ' +
      'Requires `roles.manage`. Returns 403 when the role has, or would get, a permission that you lack. Returns 409 when ' +
      'administrators would lose a permission, or when nobody could manage roles any more.',
    tag: 'roles',
    pages: ['ops'],
    pageFields: ['permissions'],
    access: 'user',
    permissions: ['roles.manage'],
    audits: ['role.update'],
    errorStatuses: [409],
    params: idParams,
    body: z.object({
      title: oneLine('Display name', z.string().trim().min(1).max(100)).optional(),
      permissions: z.array(z.enum(PERMISSIONS)).max(PERMISSIONS.length).optional().meta({
        description: 'All permissions of the role; they replace its current ones',
      }),
    }),
    responses: { 200: z.object({ data: roleSchema }) },
    handle: async ({ caller, params, body }) => {
      const role = await updateRole(caller, params.id, body);
      return ok({ data: toRole(role) });
    },
  });
