// Original file: proto/common/v1/audit.proto

import type { Long } from '@grpc/proto-loader';

export interface CountAuditEntriesResponse {
  'total'?: (number | string | Long);
}

export interface CountAuditEntriesResponse__Output {
  'total': (number);
}
