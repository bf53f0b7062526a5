// Original file: proto/store_billing/v1/store_billing.proto

import type { Long } from '@grpc/proto-loader';

export interface Boost {
  'id'?: (number | string | Long);
  'boostable_type'?: (string);
  'boostable_id'?: (number | string | Long);
  'level'?: (number);
  'starts_at'?: (string);
  'ends_at'?: (string);
  'created_at'?: (string);
}

export interface Boost__Output {
  'id': (number);
  'boostable_type': (string);
  'boostable_id': (number);
  'level': (number);
  'starts_at': (string);
  'ends_at': (string);
  'created_at': (string);
}
