/** `fitness.common.v1.AuditLog`, in every service. */
import type { AuditEntry as AuditEntryMessage } from '@fitness/proto/gen/fitness/common/v1/AuditEntry.ts';
import type { AuditFilter__Output } from '@fitness/proto/gen/fitness/common/v1/AuditFilter.ts';
import type { AuditLog } from '../audit/log.ts';
import type { AuditEntry, AuditFilter } from '../audit/reader.ts';
import { grpcDefinitions } from '../grpc/load.ts';
import { type GrpcService, grpcService } from '../grpc/server.ts';
import { type Caller, can } from '../kernel/caller.ts';
import { forbidden, invalid, message } from '../kernel/error.ts';

const MAX_LIMIT = 500;

const assertMayView = (caller: Caller): void => {
  if (!can(caller, 'audit.view')) throw forbidden('needs audit.view');
};

const toFilter = (filter: AuditFilter__Output | null): AuditFilter => ({
  actorId: filter?.actor_id || undefined,
  subjectType: filter?.subject_type || undefined,
  subjectId: filter?.subject_id || undefined,
  action: filter?.action || undefined,
  from: toDate('from', filter?.from),
  to: toDate('to', filter?.to),
});

const toDate = (field: string, text: string | undefined): Date | undefined => {
  if (text === undefined || text === '') return undefined;
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) throw invalid({ [field]: message('validation.timestamp') });
  return date;
};

const toMessage = (entry: AuditEntry): AuditEntryMessage => ({
  id: entry.id,
  service: entry.service,
  at: entry.at.toISOString(),
  actor_id: entry.actorId ?? 0,
  action: entry.action,
  subject_type: entry.subjectType,
  subject_id: entry.subjectId ?? 0,
  request_id: entry.requestId ?? '',
  before_json: entry.before === null ? '' : JSON.stringify(entry.before),
  after_json: entry.after === null ? '' : JSON.stringify(entry.after),
});

export const auditLogService = (audit: Pick<AuditLog, 'list' | 'count'>): GrpcService =>
  grpcService(grpcDefinitions.auditLog(), {
    List: async ({ filter, before_id: beforeId, limit }, { caller }) => {
      assertMayView(caller);
      if (limit < 1 || limit > MAX_LIMIT) throw invalid({ limit: message('validation.invalid') });
      const page = await audit.list(toFilter(filter), { beforeId: beforeId || undefined, limit });
      return { entries: page.entries.map(toMessage), has_more: page.hasMore };
    },
    Count: async ({ filter }, { caller }) => {
      assertMayView(caller);
      return { total: await audit.count(toFilter(filter)) };
    },
  });
