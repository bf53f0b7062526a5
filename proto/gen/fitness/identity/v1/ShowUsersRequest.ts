// Original file: proto/identity/v1/identity.proto

import type { Long } from '@grpc/proto-loader';

export interface ShowUsersRequest {
  'ids'?: (number | string | Long)[];
}

export interface ShowUsersRequest__Output {
  'ids': (number)[];
}
