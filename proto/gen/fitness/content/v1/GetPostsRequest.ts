// Original file: proto/content/v1/content.proto

import type { Long } from '@grpc/proto-loader';

export interface GetPostsRequest {
  'ids'?: (number | string | Long)[];
}

export interface GetPostsRequest__Output {
  'ids': (number)[];
}
