// Original file: proto/common/v1/media_copies.proto

import type { MediaTarget as _fitness_common_v1_MediaTarget, MediaTarget__Output as _fitness_common_v1_MediaTarget__Output } from '../../../fitness/common/v1/MediaTarget.ts';
import type { MediaFile as _fitness_common_v1_MediaFile, MediaFile__Output as _fitness_common_v1_MediaFile__Output } from '../../../fitness/common/v1/MediaFile.ts';
import type { Long } from '@grpc/proto-loader';

export interface MediaCopy {
  'target'?: (_fitness_common_v1_MediaTarget | null);
  'version'?: (number | string | Long);
  'files'?: (_fitness_common_v1_MediaFile)[];
}

export interface MediaCopy__Output {
  'target': (_fitness_common_v1_MediaTarget__Output | null);
  'version': (number);
  'files': (_fitness_common_v1_MediaFile__Output)[];
}
