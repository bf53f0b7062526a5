// Original file: proto/wallet/v1/wallet.proto

import type { Long } from '@grpc/proto-loader';

export interface Balance {
  'user_id'?: (number | string | Long);
  'balance'?: (number | string | Long);
}

export interface Balance__Output {
  'user_id': (number);
  'balance': (number);
}
