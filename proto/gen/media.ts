import type * as grpc from '@grpc/grpc-js';
import type { MessageTypeDefinition } from '@grpc/proto-loader';

import type { MediaClient as _fitness_media_v1_MediaClient, MediaDefinition as _fitness_media_v1_MediaDefinition } from './fitness/media/v1/Media.ts';

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  fitness: {
    media: {
      v1: {
        DeleteByPurposeRequest: MessageTypeDefinition
        DeleteByPurposeResponse: MessageTypeDefinition
        GetMediaRequest: MessageTypeDefinition
        GetMediaResponse: MessageTypeDefinition
        Media: SubtypeConstructor<typeof grpc.Client, _fitness_media_v1_MediaClient> & { service: _fitness_media_v1_MediaDefinition }
        MediaRow: MessageTypeDefinition
        Target: MessageTypeDefinition
      }
    }
  }
}

