// Original file: proto/common/v1/audit.proto

import type { AuditFilter as _fitness_common_v1_AuditFilter, AuditFilter__Output as _fitness_common_v1_AuditFilter__Output } from '../../../fitness/common/v1/AuditFilter.ts';

export interface CountAuditEntriesRequest {
  'filter'?: (_fitness_common_v1_AuditFilter | null);
}

export interface CountAuditEntriesRequest__Output {
  'filter': (_fitness_common_v1_AuditFilter__Output | null);
}
