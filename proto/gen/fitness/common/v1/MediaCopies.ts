// Original file: proto/common/v1/media_copies.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { MediaCopy as _fitness_common_v1_MediaCopy, MediaCopy__Output as _fitness_common_v1_MediaCopy__Output } from '../../../fitness/common/v1/MediaCopy.ts';
import type { SaveMediaCopyResponse as _fitness_common_v1_SaveMediaCopyResponse, SaveMediaCopyResponse__Output as _fitness_common_v1_SaveMediaCopyResponse__Output } from '../../../fitness/common/v1/SaveMediaCopyResponse.ts';

export interface MediaCopiesClient extends grpc.Client {
  Save(argument: _fitness_common_v1_MediaCopy, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_common_v1_SaveMediaCopyResponse__Output>): grpc.ClientUnaryCall;
  Save(argument: _fitness_common_v1_MediaCopy, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_common_v1_SaveMediaCopyResponse__Output>): grpc.ClientUnaryCall;
  Save(argument: _fitness_common_v1_MediaCopy, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_common_v1_SaveMediaCopyResponse__Output>): grpc.ClientUnaryCall;
  Save(argument: _fitness_common_v1_MediaCopy, callback: grpc.requestCallback<_fitness_common_v1_SaveMediaCopyResponse__Output>): grpc.ClientUnaryCall;
  save(argument: _fitness_common_v1_MediaCopy, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_common_v1_SaveMediaCopyResponse__Output>): grpc.ClientUnaryCall;
  save(argument: _fitness_common_v1_MediaCopy, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_common_v1_SaveMediaCopyResponse__Output>): grpc.ClientUnaryCall;
  save(argument: _fitness_common_v1_MediaCopy, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_common_v1_SaveMediaCopyResponse__Output>): grpc.ClientUnaryCall;
  save(argument: _fitness_common_v1_MediaCopy, callback: grpc.requestCallback<_fitness_common_v1_SaveMediaCopyResponse__Output>): grpc.ClientUnaryCall;
  
}

export interface MediaCopiesHandlers extends grpc.UntypedServiceImplementation {
  Save: grpc.handleUnaryCall<_fitness_common_v1_MediaCopy__Output, _fitness_common_v1_SaveMediaCopyResponse>;
  
}

export interface MediaCopiesDefinition extends grpc.ServiceDefinition {
  Save: MethodDefinition<_fitness_common_v1_MediaCopy, _fitness_common_v1_SaveMediaCopyResponse, _fitness_common_v1_MediaCopy__Output, _fitness_common_v1_SaveMediaCopyResponse__Output>
}
