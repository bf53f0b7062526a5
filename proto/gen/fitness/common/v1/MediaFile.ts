// Original file: proto/common/v1/media_copies.proto

import type { Long } from '@grpc/proto-loader';

export interface MediaFile {
  'id'?: (number | string | Long);
  'filename'?: (string);
  'mime_type'?: (string);
  'size'?: (number | string | Long);
  'created_at'?: (string);
}

export interface MediaFile__Output {
  'id': (number);
  'filename': (string);
  'mime_type': (string);
  'size': (number);
  'created_at': (string);
}
