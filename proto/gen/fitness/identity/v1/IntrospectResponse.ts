// Original file: proto/identity/v1/identity.proto

import type { Long } from '@grpc/proto-loader';

export interface IntrospectResponse {
  'user_id'?: (number | string | Long);
  'permissions'?: (string)[];
  'token_id'?: (string);
  'token_kind'?: (string);
  'withheld'?: (string)[];
  'valid_for_ms'?: (number | string | Long);
  'grantable'?: (string)[];
  'second_factor'?: (boolean);
  'epoch_store_id'?: (string);
  'audience'?: (string);
  'page'?: (string);
}

export interface IntrospectResponse__Output {
  'user_id': (number);
  'permissions': (string)[];
  'token_id': (string);
  'token_kind': (string);
  'withheld': (string)[];
  'valid_for_ms': (number);
  'grantable': (string)[];
  'second_factor': (boolean);
  'epoch_store_id': (string);
  'audience': (string);
  'page': (string);
}
