// Original file: proto/media/v1/media.proto

import type { MediaRow as _fitness_media_v1_MediaRow, MediaRow__Output as _fitness_media_v1_MediaRow__Output } from '../../../fitness/media/v1/MediaRow.ts';

export interface GetMediaResponse {
  'media'?: (_fitness_media_v1_MediaRow)[];
}

export interface GetMediaResponse__Output {
  'media': (_fitness_media_v1_MediaRow__Output)[];
}
