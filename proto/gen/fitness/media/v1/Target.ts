// Original file: proto/media/v1/media.proto

import type { Long } from '@grpc/proto-loader';

export interface Target {
  'attachable_type'?: (string);
  'attachable_id'?: (number | string | Long);
}

export interface Target__Output {
  'attachable_type': (string);
  'attachable_id': (number);
}
