// Original file: proto/identity/v1/identity.proto

import type { Long } from '@grpc/proto-loader';

export interface Role {
  'id'?: (number | string | Long);
  'name'?: (string);
  'title'?: (string);
  'permissions'?: (string)[];
}

export interface Role__Output {
  'id': (number);
  'name': (string);
  'title': (string);
  'permissions': (string)[];
}
