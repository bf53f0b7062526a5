// Original file: proto/gyms/v1/gyms.proto

import type { Long } from '@grpc/proto-loader';

export interface Gym {
  'id'?: (number | string | Long);
  'name'?: (string);
  'user_id'?: (number | string | Long);
  'is_active'?: (boolean);
  'version'?: (number | string | Long);
  '_user_id'?: "user_id";
}

export interface Gym__Output {
  'id': (number);
  'name': (string);
  'user_id'?: (number);
  'is_active': (boolean);
  'version': (number);
  '_user_id'?: "user_id";
}
