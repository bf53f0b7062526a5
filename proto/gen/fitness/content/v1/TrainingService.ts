// Original file: proto/content/v1/content.proto

import type { Long } from '@grpc/proto-loader';

export interface TrainingService {
  'id'?: (number | string | Long);
  'user_id'?: (number | string | Long);
  'title'?: (string);
  'is_active'?: (boolean);
}

export interface TrainingService__Output {
  'id': (number);
  'user_id': (number);
  'title': (string);
  'is_active': (boolean);
}
