// Original file: proto/media/v1/media.proto

import type { Target as _fitness_media_v1_Target, Target__Output as _fitness_media_v1_Target__Output } from '../../../fitness/media/v1/Target.ts';

export interface GetCopiesRequest {
  'targets'?: (_fitness_media_v1_Target)[];
}

export interface GetCopiesRequest__Output {
  'targets': (_fitness_media_v1_Target__Output)[];
}
