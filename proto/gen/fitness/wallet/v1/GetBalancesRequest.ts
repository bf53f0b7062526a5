// Original file: proto/wallet/v1/wallet.proto

import type { Long } from '@grpc/proto-loader';

export interface GetBalancesRequest {
  'user_ids'?: (number | string | Long)[];
}

export interface GetBalancesRequest__Output {
  'user_ids': (number)[];
}
