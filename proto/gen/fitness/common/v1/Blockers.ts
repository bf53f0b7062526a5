// Original file: proto/common/v1/blockers.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { EvaluateRequest as _fitness_common_v1_EvaluateRequest, EvaluateRequest__Output as _fitness_common_v1_EvaluateRequest__Output } from '../../../fitness/common/v1/EvaluateRequest.ts';
import type { EvaluateResponse as _fitness_common_v1_EvaluateResponse, EvaluateResponse__Output as _fitness_common_v1_EvaluateResponse__Output } from '../../../fitness/common/v1/EvaluateResponse.ts';

export interface BlockersClient extends grpc.Client {
  Evaluate(argument: _fitness_common_v1_EvaluateRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_common_v1_EvaluateResponse__Output>): grpc.ClientUnaryCall;
  Evaluate(argument: _fitness_common_v1_EvaluateRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_common_v1_EvaluateResponse__Output>): grpc.ClientUnaryCall;
  Evaluate(argument: _fitness_common_v1_EvaluateRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_common_v1_EvaluateResponse__Output>): grpc.ClientUnaryCall;
  Evaluate(argument: _fitness_common_v1_EvaluateRequest, callback: grpc.requestCallback<_fitness_common_v1_EvaluateResponse__Output>): grpc.ClientUnaryCall;
  evaluate(argument: _fitness_common_v1_EvaluateRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_common_v1_EvaluateResponse__Output>): grpc.ClientUnaryCall;
  evaluate(argument: _fitness_common_v1_EvaluateRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_common_v1_EvaluateResponse__Output>): grpc.ClientUnaryCall;
  evaluate(argument: _fitness_common_v1_EvaluateRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_common_v1_EvaluateResponse__Output>): grpc.ClientUnaryCall;
  evaluate(argument: _fitness_common_v1_EvaluateRequest, callback: grpc.requestCallback<_fitness_common_v1_EvaluateResponse__Output>): grpc.ClientUnaryCall;
  
}

export interface BlockersHandlers extends grpc.UntypedServiceImplementation {
  Evaluate: grpc.handleUnaryCall<_fitness_common_v1_EvaluateRequest__Output, _fitness_common_v1_EvaluateResponse>;
  
}

export interface BlockersDefinition extends grpc.ServiceDefinition {
  Evaluate: MethodDefinition<_fitness_common_v1_EvaluateRequest, _fitness_common_v1_EvaluateResponse, _fitness_common_v1_EvaluateRequest__Output, _fitness_common_v1_EvaluateResponse__Output>
}
