// Original file: proto/identity/v1/identity.proto

import type { Long } from '@grpc/proto-loader';

export interface GetUsersRequest {
  'ids'?: (number | string | Long)[];
}

export interface GetUsersRequest__Output {
  'ids': (number)[];
}
