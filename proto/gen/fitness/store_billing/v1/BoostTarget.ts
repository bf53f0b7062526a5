// Original file: proto/store_billing/v1/store_billing.proto

import type { Long } from '@grpc/proto-loader';

export interface BoostTarget {
  'type'?: (string);
  'id'?: (number | string | Long);
}

export interface BoostTarget__Output {
  'type': (string);
  'id': (number);
}
