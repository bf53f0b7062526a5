// Original file: proto/store_billing/v1/store_billing.proto

import type { Long } from '@grpc/proto-loader';

export interface GetSubscriptionsRequest {
  'user_ids'?: (number | string | Long)[];
}

export interface GetSubscriptionsRequest__Output {
  'user_ids': (number)[];
}
