// Original file: proto/common/v1/audit.proto

import type { Long } from '@grpc/proto-loader';

export interface AuditFilter {
  'actor_id'?: (number | string | Long);
  'subject_type'?: (string);
  'subject_id'?: (number | string | Long);
  'action'?: (string);
  'from'?: (string);
  'to'?: (string);
}

export interface AuditFilter__Output {
  'actor_id': (number);
  'subject_type': (string);
  'subject_id': (number);
  'action': (string);
  'from': (string);
  'to': (string);
}
