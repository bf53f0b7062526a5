// Original file: proto/media/v1/media.proto

import type { MediaCopy as _fitness_common_v1_MediaCopy, MediaCopy__Output as _fitness_common_v1_MediaCopy__Output } from '../../../fitness/common/v1/MediaCopy.ts';

export interface GetCopiesResponse {
  'copies'?: (_fitness_common_v1_MediaCopy)[];
}

export interface GetCopiesResponse__Output {
  'copies': (_fitness_common_v1_MediaCopy__Output)[];
}
