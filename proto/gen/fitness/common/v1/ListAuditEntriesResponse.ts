// Original file: proto/common/v1/audit.proto

import type { AuditEntry as _fitness_common_v1_AuditEntry, AuditEntry__Output as _fitness_common_v1_AuditEntry__Output } from '../../../fitness/common/v1/AuditEntry.ts';

export interface ListAuditEntriesResponse {
  'entries'?: (_fitness_common_v1_AuditEntry)[];
  'has_more'?: (boolean);
}

export interface ListAuditEntriesResponse__Output {
  'entries': (_fitness_common_v1_AuditEntry__Output)[];
  'has_more': (boolean);
}
