// Original file: proto/common/v1/audit.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { CountAuditEntriesRequest as _fitness_common_v1_CountAuditEntriesRequest, CountAuditEntriesRequest__Output as _fitness_common_v1_CountAuditEntriesRequest__Output } from '../../../fitness/common/v1/CountAuditEntriesRequest.ts';
import type { CountAuditEntriesResponse as _fitness_common_v1_CountAuditEntriesResponse, CountAuditEntriesResponse__Output as _fitness_common_v1_CountAuditEntriesResponse__Output } from '../../../fitness/common/v1/CountAuditEntriesResponse.ts';
import type { ListAuditEntriesRequest as _fitness_common_v1_ListAuditEntriesRequest, ListAuditEntriesRequest__Output as _fitness_common_v1_ListAuditEntriesRequest__Output } from '../../../fitness/common/v1/ListAuditEntriesRequest.ts';
import type { ListAuditEntriesResponse as _fitness_common_v1_ListAuditEntriesResponse, ListAuditEntriesResponse__Output as _fitness_common_v1_ListAuditEntriesResponse__Output } from '../../../fitness/common/v1/ListAuditEntriesResponse.ts';

export interface AuditLogClient extends grpc.Client {
  Count(argument: _fitness_common_v1_CountAuditEntriesRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_common_v1_CountAuditEntriesResponse__Output>): grpc.ClientUnaryCall;
  Count(argument: _fitness_common_v1_CountAuditEntriesRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_common_v1_CountAuditEntriesResponse__Output>): grpc.ClientUnaryCall;
  Count(argument: _fitness_common_v1_CountAuditEntriesRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_common_v1_CountAuditEntriesResponse__Output>): grpc.ClientUnaryCall;
  Count(argument: _fitness_common_v1_CountAuditEntriesRequest, callback: grpc.requestCallback<_fitness_common_v1_CountAuditEntriesResponse__Output>): grpc.ClientUnaryCall;
  count(argument: _fitness_common_v1_CountAuditEntriesRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_common_v1_CountAuditEntriesResponse__Output>): grpc.ClientUnaryCall;
  count(argument: _fitness_common_v1_CountAuditEntriesRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_common_v1_CountAuditEntriesResponse__Output>): grpc.ClientUnaryCall;
  count(argument: _fitness_common_v1_CountAuditEntriesRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_common_v1_CountAuditEntriesResponse__Output>): grpc.ClientUnaryCall;
  count(argument: _fitness_common_v1_CountAuditEntriesRequest, callback: grpc.requestCallback<_fitness_common_v1_CountAuditEntriesResponse__Output>): grpc.ClientUnaryCall;
  
  List(argument: _fitness_common_v1_ListAuditEntriesRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_common_v1_ListAuditEntriesResponse__Output>): grpc.ClientUnaryCall;
  List(argument: _fitness_common_v1_ListAuditEntriesRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_common_v1_ListAuditEntriesResponse__Output>): grpc.ClientUnaryCall;
  List(argument: _fitness_common_v1_ListAuditEntriesRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_common_v1_ListAuditEntriesResponse__Output>): grpc.ClientUnaryCall;
  List(argument: _fitness_common_v1_ListAuditEntriesRequest, callback: grpc.requestCallback<_fitness_common_v1_ListAuditEntriesResponse__Output>): grpc.ClientUnaryCall;
  list(argument: _fitness_common_v1_ListAuditEntriesRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_common_v1_ListAuditEntriesResponse__Output>): grpc.ClientUnaryCall;
  list(argument: _fitness_common_v1_ListAuditEntriesRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_common_v1_ListAuditEntriesResponse__Output>): grpc.ClientUnaryCall;
  list(argument: _fitness_common_v1_ListAuditEntriesRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_common_v1_ListAuditEntriesResponse__Output>): grpc.ClientUnaryCall;
  list(argument: _fitness_common_v1_ListAuditEntriesRequest, callback: grpc.requestCallback<_fitness_common_v1_ListAuditEntriesResponse__Output>): grpc.ClientUnaryCall;
  
}

export interface AuditLogHandlers extends grpc.UntypedServiceImplementation {
  Count: grpc.handleUnaryCall<_fitness_common_v1_CountAuditEntriesRequest__Output, _fitness_common_v1_CountAuditEntriesResponse>;
  
  List: grpc.handleUnaryCall<_fitness_common_v1_ListAuditEntriesRequest__Output, _fitness_common_v1_ListAuditEntriesResponse>;
  
}

export interface AuditLogDefinition extends grpc.ServiceDefinition {
  Count: MethodDefinition<_fitness_common_v1_CountAuditEntriesRequest, _fitness_common_v1_CountAuditEntriesResponse, _fitness_common_v1_CountAuditEntriesRequest__Output, _fitness_common_v1_CountAuditEntriesResponse__Output>
  List: MethodDefinition<_fitness_common_v1_ListAuditEntriesRequest, _fitness_common_v1_ListAuditEntriesResponse, _fitness_common_v1_ListAuditEntriesRequest__Output, _fitness_common_v1_ListAuditEntriesResponse__Output>
}
