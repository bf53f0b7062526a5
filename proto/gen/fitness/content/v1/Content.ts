// Original file: proto/content/v1/content.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { GetPostsRequest as _fitness_content_v1_GetPostsRequest, GetPostsRequest__Output as _fitness_content_v1_GetPostsRequest__Output } from '../../../fitness/content/v1/GetPostsRequest.ts';
import type { GetPostsResponse as _fitness_content_v1_GetPostsResponse, GetPostsResponse__Output as _fitness_content_v1_GetPostsResponse__Output } from '../../../fitness/content/v1/GetPostsResponse.ts';
import type { GetTrainingServicesRequest as _fitness_content_v1_GetTrainingServicesRequest, GetTrainingServicesRequest__Output as _fitness_content_v1_GetTrainingServicesRequest__Output } from '../../../fitness/content/v1/GetTrainingServicesRequest.ts';
import type { GetTrainingServicesResponse as _fitness_content_v1_GetTrainingServicesResponse, GetTrainingServicesResponse__Output as _fitness_content_v1_GetTrainingServicesResponse__Output } from '../../../fitness/content/v1/GetTrainingServicesResponse.ts';

export interface ContentClient extends grpc.Client {
  GetPosts(argument: _fitness_content_v1_GetPostsRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_content_v1_GetPostsResponse__Output>): grpc.ClientUnaryCall;
  GetPosts(argument: _fitness_content_v1_GetPostsRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_content_v1_GetPostsResponse__Output>): grpc.ClientUnaryCall;
  GetPosts(argument: _fitness_content_v1_GetPostsRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_content_v1_GetPostsResponse__Output>): grpc.ClientUnaryCall;
  GetPosts(argument: _fitness_content_v1_GetPostsRequest, callback: grpc.requestCallback<_fitness_content_v1_GetPostsResponse__Output>): grpc.ClientUnaryCall;
  getPosts(argument: _fitness_content_v1_GetPostsRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_content_v1_GetPostsResponse__Output>): grpc.ClientUnaryCall;
  getPosts(argument: _fitness_content_v1_GetPostsRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_content_v1_GetPostsResponse__Output>): grpc.ClientUnaryCall;
  getPosts(argument: _fitness_content_v1_GetPostsRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_content_v1_GetPostsResponse__Output>): grpc.ClientUnaryCall;
  getPosts(argument: _fitness_content_v1_GetPostsRequest, callback: grpc.requestCallback<_fitness_content_v1_GetPostsResponse__Output>): grpc.ClientUnaryCall;
  
  GetTrainingServices(argument: _fitness_content_v1_GetTrainingServicesRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_content_v1_GetTrainingServicesResponse__Output>): grpc.ClientUnaryCall;
  GetTrainingServices(argument: _fitness_content_v1_GetTrainingServicesRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_content_v1_GetTrainingServicesResponse__Output>): grpc.ClientUnaryCall;
  GetTrainingServices(argument: _fitness_content_v1_GetTrainingServicesRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_content_v1_GetTrainingServicesResponse__Output>): grpc.ClientUnaryCall;
  GetTrainingServices(argument: _fitness_content_v1_GetTrainingServicesRequest, callback: grpc.requestCallback<_fitness_content_v1_GetTrainingServicesResponse__Output>): grpc.ClientUnaryCall;
  getTrainingServices(argument: _fitness_content_v1_GetTrainingServicesRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_content_v1_GetTrainingServicesResponse__Output>): grpc.ClientUnaryCall;
  getTrainingServices(argument: _fitness_content_v1_GetTrainingServicesRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_content_v1_GetTrainingServicesResponse__Output>): grpc.ClientUnaryCall;
  getTrainingServices(argument: _fitness_content_v1_GetTrainingServicesRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_content_v1_GetTrainingServicesResponse__Output>): grpc.ClientUnaryCall;
  getTrainingServices(argument: _fitness_content_v1_GetTrainingServicesRequest, callback: grpc.requestCallback<_fitness_content_v1_GetTrainingServicesResponse__Output>): grpc.ClientUnaryCall;
  
}

export interface ContentHandlers extends grpc.UntypedServiceImplementation {
  GetPosts: grpc.handleUnaryCall<_fitness_content_v1_GetPostsRequest__Output, _fitness_content_v1_GetPostsResponse>;
  
  GetTrainingServices: grpc.handleUnaryCall<_fitness_content_v1_GetTrainingServicesRequest__Output, _fitness_content_v1_GetTrainingServicesResponse>;
  
}

export interface ContentDefinition extends grpc.ServiceDefinition {
  GetPosts: MethodDefinition<_fitness_content_v1_GetPostsRequest, _fitness_content_v1_GetPostsResponse, _fitness_content_v1_GetPostsRequest__Output, _fitness_content_v1_GetPostsResponse__Output>
  GetTrainingServices: MethodDefinition<_fitness_content_v1_GetTrainingServicesRequest, _fitness_content_v1_GetTrainingServicesResponse, _fitness_content_v1_GetTrainingServicesRequest__Output, _fitness_content_v1_GetTrainingServicesResponse__Output>
}
