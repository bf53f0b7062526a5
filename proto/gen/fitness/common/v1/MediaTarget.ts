// Original file: proto/common/v1/media_copies.proto

import type { Long } from '@grpc/proto-loader';

export interface MediaTarget {
  'attachable_type'?: (string);
  'attachable_id'?: (number | string | Long);
}

export interface MediaTarget__Output {
  'attachable_type': (string);
  'attachable_id': (number);
}
