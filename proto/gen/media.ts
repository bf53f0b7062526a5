import type * as grpc from '@grpc/grpc-js';
import type { MessageTypeDefinition } from '@grpc/proto-loader';

import type { MediaCopiesClient as _fitness_common_v1_MediaCopiesClient, MediaCopiesDefinition as _fitness_common_v1_MediaCopiesDefinition } from './fitness/common/v1/MediaCopies.ts';
import type { MediaClient as _fitness_media_v1_MediaClient, MediaDefinition as _fitness_media_v1_MediaDefinition } from './fitness/media/v1/Media.ts';

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  fitness: {
    common: {
      v1: {
        MediaCopies: SubtypeConstructor<typeof grpc.Client, _fitness_common_v1_MediaCopiesClient> & { service: _fitness_common_v1_MediaCopiesDefinition }
        MediaCopy: MessageTypeDefinition
        MediaFile: MessageTypeDefinition
        MediaTarget: MessageTypeDefinition
        SaveMediaCopyResponse: MessageTypeDefinition
      }
    }
    media: {
      v1: {
        DeleteByPurposeRequest: MessageTypeDefinition
        DeleteByPurposeResponse: MessageTypeDefinition
        GetCopiesRequest: MessageTypeDefinition
        GetCopiesResponse: MessageTypeDefinition
        Media: SubtypeConstructor<typeof grpc.Client, _fitness_media_v1_MediaClient> & { service: _fitness_media_v1_MediaDefinition }
        MediaRow: MessageTypeDefinition
        Target: MessageTypeDefinition
      }
    }
  }
}

