// Original file: proto/common/v1/blockers.proto

import type { Long } from '@grpc/proto-loader';

export interface EvaluateRequest {
  'user_id'?: (number | string | Long);
  'code'?: (string);
}

export interface EvaluateRequest__Output {
  'user_id': (number);
  'code': (string);
}
