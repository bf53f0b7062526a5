// Original file: proto/media/v1/media.proto

import type { Long } from '@grpc/proto-loader';

export interface MediaRow {
  'id'?: (number | string | Long);
  'attachable_type'?: (string);
  'attachable_id'?: (number | string | Long);
  'link'?: (string);
  'filename'?: (string);
  'mime_type'?: (string);
  'size'?: (number | string | Long);
  'created_at'?: (string);
}

export interface MediaRow__Output {
  'id': (number);
  'attachable_type': (string);
  'attachable_id': (number);
  'link': (string);
  'filename': (string);
  'mime_type': (string);
  'size': (number);
  'created_at': (string);
}
