import { roleSchema } from '@fitness/contracts/user.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { idParams } from '@fitness/shared/http/validation.ts';
import { PERMISSIONS } from '@fitness/shared/kernel/permissions.ts';
import { oneLine } from '@fitness/shared/kernel/refinements.ts';
import { z } from 'zod';
import { toRole } from '../app/roles/role-resource.ts';
import type { UseCases } from '../use-cases.ts';

export const putRoleRoute = ({ updateRole }: Pick<UseCases, 'updateRole'>): Route =>
  defineRoute({
    method: 'PUT',
    path: '/roles/:id',
    summary: 'Change a role',
    description:
      'Applies to every account with the role from its next request on. 403 for a permission that the caller lacks. Administrators keep every permission: 409.',
    tag: 'roles',
    pages: ['ops'],
    pageFields: ['permissions'],
    access: 'user',
    permissions: ['roles.manage'],
    audits: ['role.update'],
    errorStatuses: [409],
    params: idParams,
    body: z.object({
      title: oneLine(z.string().trim().min(1).max(100)).optional(),
      permissions: z.array(z.enum(PERMISSIONS)).max(PERMISSIONS.length).optional(),
    }),
    responses: { 200: z.object({ data: roleSchema }) },
    handle: async ({ caller, params, body }) => {
      const role = await updateRole(caller, params.id, body);
      return ok({ data: toRole(role) });
    },
  });
