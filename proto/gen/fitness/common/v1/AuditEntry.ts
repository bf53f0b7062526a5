// Original file: proto/common/v1/audit.proto

import type { Long } from '@grpc/proto-loader';

export interface AuditEntry {
  'id'?: (number | string | Long);
  'service'?: (string);
  'at'?: (string);
  'actor_id'?: (number | string | Long);
  'action'?: (string);
  'subject_type'?: (string);
  'subject_id'?: (number | string | Long);
  'request_id'?: (string);
  'before_json'?: (string);
  'after_json'?: (string);
}

export interface AuditEntry__Output {
  'id': (number);
  'service': (string);
  'at': (string);
  'actor_id': (number);
  'action': (string);
  'subject_type': (string);
  'subject_id': (number);
  'request_id': (string);
  'before_json': (string);
  'after_json': (string);
}
