// Original file: proto/common/v1/audit.proto

import type { AuditFilter as _fitness_common_v1_AuditFilter, AuditFilter__Output as _fitness_common_v1_AuditFilter__Output } from '../../../fitness/common/v1/AuditFilter.ts';
import type { Long } from '@grpc/proto-loader';

export interface ListAuditEntriesRequest {
  'filter'?: (_fitness_common_v1_AuditFilter | null);
  'before_id'?: (number | string | Long);
  'limit'?: (number);
}

export interface ListAuditEntriesRequest__Output {
  'filter': (_fitness_common_v1_AuditFilter__Output | null);
  'before_id': (number);
  'limit': (number);
}
