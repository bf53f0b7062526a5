// Original file: proto/gyms/v1/gyms.proto

import type { Long } from '@grpc/proto-loader';

export interface GetGymsRequest {
  'ids'?: (number | string | Long)[];
}

export interface GetGymsRequest__Output {
  'ids': (number)[];
}
