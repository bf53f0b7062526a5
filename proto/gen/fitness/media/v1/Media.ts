// Original file: proto/media/v1/media.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { DeleteByPurposeRequest as _fitness_media_v1_DeleteByPurposeRequest, DeleteByPurposeRequest__Output as _fitness_media_v1_DeleteByPurposeRequest__Output } from '../../../fitness/media/v1/DeleteByPurposeRequest.ts';
import type { DeleteByPurposeResponse as _fitness_media_v1_DeleteByPurposeResponse, DeleteByPurposeResponse__Output as _fitness_media_v1_DeleteByPurposeResponse__Output } from '../../../fitness/media/v1/DeleteByPurposeResponse.ts';
import type { GetCopiesRequest as _fitness_media_v1_GetCopiesRequest, GetCopiesRequest__Output as _fitness_media_v1_GetCopiesRequest__Output } from '../../../fitness/media/v1/GetCopiesRequest.ts';
import type { GetCopiesResponse as _fitness_media_v1_GetCopiesResponse, GetCopiesResponse__Output as _fitness_media_v1_GetCopiesResponse__Output } from '../../../fitness/media/v1/GetCopiesResponse.ts';

export interface MediaClient extends grpc.Client {
  DeleteByPurpose(argument: _fitness_media_v1_DeleteByPurposeRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_media_v1_DeleteByPurposeResponse__Output>): grpc.ClientUnaryCall;
  DeleteByPurpose(argument: _fitness_media_v1_DeleteByPurposeRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_media_v1_DeleteByPurposeResponse__Output>): grpc.ClientUnaryCall;
  DeleteByPurpose(argument: _fitness_media_v1_DeleteByPurposeRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_media_v1_DeleteByPurposeResponse__Output>): grpc.ClientUnaryCall;
  DeleteByPurpose(argument: _fitness_media_v1_DeleteByPurposeRequest, callback: grpc.requestCallback<_fitness_media_v1_DeleteByPurposeResponse__Output>): grpc.ClientUnaryCall;
  deleteByPurpose(argument: _fitness_media_v1_DeleteByPurposeRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_media_v1_DeleteByPurposeResponse__Output>): grpc.ClientUnaryCall;
  deleteByPurpose(argument: _fitness_media_v1_DeleteByPurposeRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_media_v1_DeleteByPurposeResponse__Output>): grpc.ClientUnaryCall;
  deleteByPurpose(argument: _fitness_media_v1_DeleteByPurposeRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_media_v1_DeleteByPurposeResponse__Output>): grpc.ClientUnaryCall;
  deleteByPurpose(argument: _fitness_media_v1_DeleteByPurposeRequest, callback: grpc.requestCallback<_fitness_media_v1_DeleteByPurposeResponse__Output>): grpc.ClientUnaryCall;
  
  GetCopies(argument: _fitness_media_v1_GetCopiesRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_media_v1_GetCopiesResponse__Output>): grpc.ClientUnaryCall;
  GetCopies(argument: _fitness_media_v1_GetCopiesRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_media_v1_GetCopiesResponse__Output>): grpc.ClientUnaryCall;
  GetCopies(argument: _fitness_media_v1_GetCopiesRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_media_v1_GetCopiesResponse__Output>): grpc.ClientUnaryCall;
  GetCopies(argument: _fitness_media_v1_GetCopiesRequest, callback: grpc.requestCallback<_fitness_media_v1_GetCopiesResponse__Output>): grpc.ClientUnaryCall;
  getCopies(argument: _fitness_media_v1_GetCopiesRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_media_v1_GetCopiesResponse__Output>): grpc.ClientUnaryCall;
  getCopies(argument: _fitness_media_v1_GetCopiesRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_media_v1_GetCopiesResponse__Output>): grpc.ClientUnaryCall;
  getCopies(argument: _fitness_media_v1_GetCopiesRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_media_v1_GetCopiesResponse__Output>): grpc.ClientUnaryCall;
  getCopies(argument: _fitness_media_v1_GetCopiesRequest, callback: grpc.requestCallback<_fitness_media_v1_GetCopiesResponse__Output>): grpc.ClientUnaryCall;
  
}

export interface MediaHandlers extends grpc.UntypedServiceImplementation {
  DeleteByPurpose: grpc.handleUnaryCall<_fitness_media_v1_DeleteByPurposeRequest__Output, _fitness_media_v1_DeleteByPurposeResponse>;
  
  GetCopies: grpc.handleUnaryCall<_fitness_media_v1_GetCopiesRequest__Output, _fitness_media_v1_GetCopiesResponse>;
  
}

export interface MediaDefinition extends grpc.ServiceDefinition {
  DeleteByPurpose: MethodDefinition<_fitness_media_v1_DeleteByPurposeRequest, _fitness_media_v1_DeleteByPurposeResponse, _fitness_media_v1_DeleteByPurposeRequest__Output, _fitness_media_v1_DeleteByPurposeResponse__Output>
  GetCopies: MethodDefinition<_fitness_media_v1_GetCopiesRequest, _fitness_media_v1_GetCopiesResponse, _fitness_media_v1_GetCopiesRequest__Output, _fitness_media_v1_GetCopiesResponse__Output>
}
