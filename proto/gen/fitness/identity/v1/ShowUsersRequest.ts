// Original file: proto/identity/v1/identity.proto

import type { Long } from '@grpc/proto-loader';

export interface ShowUsersRequest {
  'ids'?: (number | string | Long)[];
  'with_erased'?: (boolean);
  'without_pending'?: (boolean);
}

export interface ShowUsersRequest__Output {
  'ids': (number)[];
  'with_erased': (boolean);
  'without_pending': (boolean);
}
