import type * as grpc from '@grpc/grpc-js';
import type { MessageTypeDefinition } from '@grpc/proto-loader';

import type { ContentClient as _fitness_content_v1_ContentClient, ContentDefinition as _fitness_content_v1_ContentDefinition } from './fitness/content/v1/Content.ts';

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  fitness: {
    content: {
      v1: {
        Content: SubtypeConstructor<typeof grpc.Client, _fitness_content_v1_ContentClient> & { service: _fitness_content_v1_ContentDefinition }
        GetPostsRequest: MessageTypeDefinition
        GetPostsResponse: MessageTypeDefinition
        GetTrainingServicesRequest: MessageTypeDefinition
        GetTrainingServicesResponse: MessageTypeDefinition
        Post: MessageTypeDefinition
        TrainingService: MessageTypeDefinition
      }
    }
  }
}

