// Original file: proto/identity/v1/identity.proto

import type { Long } from '@grpc/proto-loader';

export interface GetHiddenUsersRequest {
  'ids'?: (number | string | Long)[];
}

export interface GetHiddenUsersRequest__Output {
  'ids': (number)[];
}
