// Original file: proto/store_billing/v1/store_billing.proto

import type { Long } from '@grpc/proto-loader';

export interface Subscription {
  'id'?: (number | string | Long);
  'user_id'?: (number | string | Long);
  'type'?: (string);
  'starts_at'?: (string);
  'expires_at'?: (string);
  'created_at'?: (string);
}

export interface Subscription__Output {
  'id': (number);
  'user_id': (number);
  'type': (string);
  'starts_at': (string);
  'expires_at': (string);
  'created_at': (string);
}
