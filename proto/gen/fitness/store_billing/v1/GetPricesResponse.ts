// Original file: proto/store_billing/v1/store_billing.proto

import type { Long } from '@grpc/proto-loader';

export interface GetPricesResponse {
  'premium_plus'?: (number | string | Long);
  'boost_basic'?: (number | string | Long);
  'boost_pro'?: (number | string | Long);
}

export interface GetPricesResponse__Output {
  'premium_plus': (number);
  'boost_basic': (number);
  'boost_pro': (number);
}
