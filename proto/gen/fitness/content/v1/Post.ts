// Original file: proto/content/v1/content.proto

import type { Long } from '@grpc/proto-loader';

export interface Post {
  'id'?: (number | string | Long);
  'profile_type'?: (string);
  'profile_id'?: (number | string | Long);
  'is_draft'?: (boolean);
  'owner_user_id'?: (number | string | Long);
  'is_public'?: (boolean);
  '_owner_user_id'?: "owner_user_id";
}

export interface Post__Output {
  'id': (number);
  'profile_type': (string);
  'profile_id': (number);
  'is_draft': (boolean);
  'owner_user_id'?: (number);
  'is_public': (boolean);
  '_owner_user_id'?: "owner_user_id";
}
