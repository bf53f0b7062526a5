// Original file: proto/content/v1/content.proto

import type { Long } from '@grpc/proto-loader';

export interface GetTrainingServicesRequest {
  'ids'?: (number | string | Long)[];
}

export interface GetTrainingServicesRequest__Output {
  'ids': (number)[];
}
