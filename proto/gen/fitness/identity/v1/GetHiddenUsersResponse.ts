// Original file: proto/identity/v1/identity.proto

import type { Long } from '@grpc/proto-loader';

export interface GetHiddenUsersResponse {
  'pending_ids'?: (number | string | Long)[];
  'gone_ids'?: (number | string | Long)[];
}

export interface GetHiddenUsersResponse__Output {
  'pending_ids': (number)[];
  'gone_ids': (number)[];
}
