// Original file: proto/media/v1/media.proto

import type { Target as _fitness_media_v1_Target, Target__Output as _fitness_media_v1_Target__Output } from '../../../fitness/media/v1/Target.ts';
import type { Long } from '@grpc/proto-loader';

export interface DeleteByPurposeRequest {
  'target'?: (_fitness_media_v1_Target | null);
  'purpose'?: (string);
  'up_to_media_id'?: (number | string | Long);
  '_up_to_media_id'?: "up_to_media_id";
}

export interface DeleteByPurposeRequest__Output {
  'target': (_fitness_media_v1_Target__Output | null);
  'purpose': (string);
  'up_to_media_id'?: (number);
  '_up_to_media_id'?: "up_to_media_id";
}
