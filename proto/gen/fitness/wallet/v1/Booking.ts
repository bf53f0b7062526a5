// Original file: proto/wallet/v1/wallet.proto

import type { Long } from '@grpc/proto-loader';

export interface Booking {
  'user_id'?: (number | string | Long);
  'type'?: (string);
  'amount'?: (number | string | Long);
  'description'?: (string);
  'payable_type'?: (string);
  'payable_id'?: (number | string | Long);
  '_description'?: "description";
  '_payable_type'?: "payable_type";
  '_payable_id'?: "payable_id";
}

export interface Booking__Output {
  'user_id': (number);
  'type': (string);
  'amount': (number);
  'description'?: (string);
  'payable_type'?: (string);
  'payable_id'?: (number);
  '_description'?: "description";
  '_payable_type'?: "payable_type";
  '_payable_id'?: "payable_id";
}
