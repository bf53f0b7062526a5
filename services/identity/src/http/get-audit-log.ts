import { timestampSchema } from '@fitness/contracts/timestamp.ts';
import { AUDIT_ACTIONS, AUDIT_SUBJECTS } from '@fitness/shared/audit/actions.ts';
import type { AuditEntry } from '@fitness/shared/audit/reader.ts';
import { defineRoute, ok, type Route } from '@fitness/shared/http/define-route.ts';
import { listBody, listOf, pageQuery, toPageRequest } from '@fitness/shared/http/pagination.ts';
import { queryTimestamp } from '@fitness/shared/http/query-timestamp.ts';
import { queryId } from '@fitness/shared/http/validation.ts';
import { formatTimestamp } from '@fitness/shared/kernel/clock.ts';
import { z } from 'zod';
import type { UseCases } from '../use-cases.ts';

const state = z.record(z.string(), z.unknown()).nullable();

const entrySchema = z
  .object({
    id: z.int(),
    service: z.string().meta({ description: 'Service whose log has the entry' }),
    action: z.string().meta({ description: 'What was done, e.g. `gym_license.review`' }),
    actor_id: z
      .int()
      .nullable()
      .meta({ description: 'Id of the operator. Null for a command that was run on the servers.' }),
    subject_type: z.string().meta({ description: 'Type of the resource that was acted on' }),
    subject_id: z
      .int()
      .nullable()
      .meta({ description: 'Id of the resource that was acted on; null if it has none' }),
    request_id: z
      .string()
      .nullable()
      .meta({ description: '`X-Request-Id` of the request; null without one' }),
    before: state.meta({
      description:
        'Fields that the action concerns, as they were stored before it; `after` has them as they were stored after it. Times ' +
        'are `YYYY-MM-DD HH:MM:SS` in UTC. A personal value of an erased account is `{"erased": true}`.',
    }),
    after: state.meta({ description: 'The same fields as they were stored after it' }),
    created_at: timestampSchema,
  })
  .meta({ id: 'AuditEntry' });

const toResource = (entry: AuditEntry): z.output<typeof entrySchema> => ({
  id: entry.id,
  service: entry.service,
  action: entry.action,
  actor_id: entry.actorId,
  subject_type: entry.subjectType,
  subject_id: entry.subjectId,
  request_id: entry.requestId,
  before: entry.before,
  after: entry.after,
  created_at: formatTimestamp(entry.at),
});

const query = z.object({
  ...pageQuery,
  actor_id: queryId.optional(),
  subject_type: z.enum(AUDIT_SUBJECTS).optional(),
  subject_id: queryId.optional().meta({
    description:
      'Only actions on the resource with this id. Without `subject_type`, resources of every type match.',
  }),
  action: z.enum(AUDIT_ACTIONS).optional(),
  from: queryTimestamp('start')
    .optional()
    .meta({ description: 'Start of the period, inclusive: `YYYY-MM-DD` or `YYYY-MM-DD HH:MM:SS` in UTC' }),
  to: queryTimestamp('end').optional().meta({
    description: 'End of the period, inclusive, in the form of `from`. A date alone includes its whole day.',
  }),
});

export const getAuditLogRoute = ({ listAuditLog }: UseCases, baseUrl: string): Route =>
  defineRoute({
    method: 'GET',
    path: '/audit-log',
    summary: 'List what operators did',
    description:
      'Returns the actions of operators in all services, newest first. Requires `audit.view`. Returns 503 while one of the ' +
      'services does not respond, because the list would be incomplete.',
    tag: 'audit',
    pages: ['ops'],
    access: 'user',
    permissions: ['audit.view'],
    query,
    responses: { 200: listOf(entrySchema) },
    handle: async ({
      caller,
      query: { actor_id, subject_type, subject_id, action, from, to, ...paging },
      url,
    }) => {
      const request = toPageRequest(paging, url);
      const filter = {
        actorId: actor_id,
        subjectType: subject_type,
        subjectId: subject_id,
        action,
        from,
        to,
      };
      const page = await listAuditLog(caller, filter, request);
      return ok(listBody({ baseUrl, url, request, page, data: page.rows.map(toResource) }));
    },
  });
