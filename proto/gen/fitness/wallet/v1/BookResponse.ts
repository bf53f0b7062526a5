// Original file: proto/wallet/v1/wallet.proto

import type { Long } from '@grpc/proto-loader';

export interface BookResponse {
  'payment_ids'?: (number | string | Long)[];
  'replayed'?: (boolean);
}

export interface BookResponse__Output {
  'payment_ids': (number)[];
  'replayed': (boolean);
}
