/** Clients of the audit logs of all services. */
import type { AuditEntry__Output } from '@fitness/proto/gen/fitness/common/v1/AuditEntry.ts';
import type { AuditLogDefinition } from '@fitness/proto/gen/fitness/common/v1/AuditLog.ts';
import type { AuditValues } from '@fitness/shared/audit/actions.ts';
import type { AuditLog } from '@fitness/shared/audit/log.ts';
import type { AuditEntry, AuditFilter } from '@fitness/shared/audit/reader.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import type { Caller } from '@fitness/shared/kernel/caller.ts';

/** The audit log of one service. Throws `unavailable` when the service does not respond. */
export interface AuditSource {
  list(caller: Caller, filter: AuditFilter, page: Page): ReturnType<AuditLog['list']>;
  count(caller: Caller, filter: AuditFilter): Promise<number>;
}

interface Page {
  beforeId: number | undefined;
  limit: number;
}

const READ = { retry: true };

const toMessage = ({ actorId, subjectType, subjectId, action, from, to }: AuditFilter) => ({
  actor_id: actorId ?? 0,
  subject_type: subjectType ?? '',
  subject_id: subjectId ?? 0,
  action: action ?? '',
  from: from?.toISOString() ?? '',
  to: to?.toISOString() ?? '',
});

const valuesOf = (json: string): AuditValues | null =>
  json === '' ? null : (JSON.parse(json) as AuditValues);

const toEntry = (entry: AuditEntry__Output): AuditEntry => ({
  id: entry.id,
  service: entry.service,
  at: new Date(entry.at),
  actorId: entry.actor_id || null,
  action: entry.action,
  subjectType: entry.subject_type,
  subjectId: entry.subject_id || null,
  requestId: entry.request_id || null,
  before: valuesOf(entry.before_json),
  after: valuesOf(entry.after_json),
});

export const remoteAuditSource = (client: GrpcClient<AuditLogDefinition>): AuditSource => ({
  list: async (caller, filter, { beforeId, limit }) => {
    const request = { filter: toMessage(filter), before_id: beforeId ?? 0, limit };
    const response = await client.call('List', request, { ...READ, caller });
    return { entries: response.entries.map(toEntry), hasMore: response.has_more };
  },
  count: async (caller, filter) =>
    (await client.call('Count', { filter: toMessage(filter) }, { ...READ, caller })).total,
});

/** The audit log of identity itself. The route has checked the permission. */
export const ownAuditSource = (audit: Pick<AuditLog, 'list' | 'count'>): AuditSource => ({
  list: (_caller, filter, page) => audit.list(filter, page),
  count: (_caller, filter) => audit.count(filter),
});
