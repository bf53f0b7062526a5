// Original file: proto/identity/v1/identity.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { AttachLicenseRequest as _fitness_identity_v1_AttachLicenseRequest, AttachLicenseRequest__Output as _fitness_identity_v1_AttachLicenseRequest__Output } from '../../../fitness/identity/v1/AttachLicenseRequest.ts';
import type { AttachLicenseResponse as _fitness_identity_v1_AttachLicenseResponse, AttachLicenseResponse__Output as _fitness_identity_v1_AttachLicenseResponse__Output } from '../../../fitness/identity/v1/AttachLicenseResponse.ts';
import type { GetDeletionBlockersRequest as _fitness_identity_v1_GetDeletionBlockersRequest, GetDeletionBlockersRequest__Output as _fitness_identity_v1_GetDeletionBlockersRequest__Output } from '../../../fitness/identity/v1/GetDeletionBlockersRequest.ts';
import type { GetDeletionBlockersResponse as _fitness_identity_v1_GetDeletionBlockersResponse, GetDeletionBlockersResponse__Output as _fitness_identity_v1_GetDeletionBlockersResponse__Output } from '../../../fitness/identity/v1/GetDeletionBlockersResponse.ts';
import type { GetHiddenUsersRequest as _fitness_identity_v1_GetHiddenUsersRequest, GetHiddenUsersRequest__Output as _fitness_identity_v1_GetHiddenUsersRequest__Output } from '../../../fitness/identity/v1/GetHiddenUsersRequest.ts';
import type { GetHiddenUsersResponse as _fitness_identity_v1_GetHiddenUsersResponse, GetHiddenUsersResponse__Output as _fitness_identity_v1_GetHiddenUsersResponse__Output } from '../../../fitness/identity/v1/GetHiddenUsersResponse.ts';
import type { GetUsersRequest as _fitness_identity_v1_GetUsersRequest, GetUsersRequest__Output as _fitness_identity_v1_GetUsersRequest__Output } from '../../../fitness/identity/v1/GetUsersRequest.ts';
import type { GetUsersResponse as _fitness_identity_v1_GetUsersResponse, GetUsersResponse__Output as _fitness_identity_v1_GetUsersResponse__Output } from '../../../fitness/identity/v1/GetUsersResponse.ts';
import type { IntrospectRequest as _fitness_identity_v1_IntrospectRequest, IntrospectRequest__Output as _fitness_identity_v1_IntrospectRequest__Output } from '../../../fitness/identity/v1/IntrospectRequest.ts';
import type { IntrospectResponse as _fitness_identity_v1_IntrospectResponse, IntrospectResponse__Output as _fitness_identity_v1_IntrospectResponse__Output } from '../../../fitness/identity/v1/IntrospectResponse.ts';
import type { ShowUsersRequest as _fitness_identity_v1_ShowUsersRequest, ShowUsersRequest__Output as _fitness_identity_v1_ShowUsersRequest__Output } from '../../../fitness/identity/v1/ShowUsersRequest.ts';
import type { ShowUsersResponse as _fitness_identity_v1_ShowUsersResponse, ShowUsersResponse__Output as _fitness_identity_v1_ShowUsersResponse__Output } from '../../../fitness/identity/v1/ShowUsersResponse.ts';

export interface IdentityClient extends grpc.Client {
  AttachLicense(argument: _fitness_identity_v1_AttachLicenseRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_identity_v1_AttachLicenseResponse__Output>): grpc.ClientUnaryCall;
  AttachLicense(argument: _fitness_identity_v1_AttachLicenseRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_identity_v1_AttachLicenseResponse__Output>): grpc.ClientUnaryCall;
  AttachLicense(argument: _fitness_identity_v1_AttachLicenseRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_identity_v1_AttachLicenseResponse__Output>): grpc.ClientUnaryCall;
  AttachLicense(argument: _fitness_identity_v1_AttachLicenseRequest, callback: grpc.requestCallback<_fitness_identity_v1_AttachLicenseResponse__Output>): grpc.ClientUnaryCall;
  attachLicense(argument: _fitness_identity_v1_AttachLicenseRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_identity_v1_AttachLicenseResponse__Output>): grpc.ClientUnaryCall;
  attachLicense(argument: _fitness_identity_v1_AttachLicenseRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_identity_v1_AttachLicenseResponse__Output>): grpc.ClientUnaryCall;
  attachLicense(argument: _fitness_identity_v1_AttachLicenseRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_identity_v1_AttachLicenseResponse__Output>): grpc.ClientUnaryCall;
  attachLicense(argument: _fitness_identity_v1_AttachLicenseRequest, callback: grpc.requestCallback<_fitness_identity_v1_AttachLicenseResponse__Output>): grpc.ClientUnaryCall;
  
  GetDeletionBlockers(argument: _fitness_identity_v1_GetDeletionBlockersRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_identity_v1_GetDeletionBlockersResponse__Output>): grpc.ClientUnaryCall;
  GetDeletionBlockers(argument: _fitness_identity_v1_GetDeletionBlockersRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_identity_v1_GetDeletionBlockersResponse__Output>): grpc.ClientUnaryCall;
  GetDeletionBlockers(argument: _fitness_identity_v1_GetDeletionBlockersRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_identity_v1_GetDeletionBlockersResponse__Output>): grpc.ClientUnaryCall;
  GetDeletionBlockers(argument: _fitness_identity_v1_GetDeletionBlockersRequest, callback: grpc.requestCallback<_fitness_identity_v1_GetDeletionBlockersResponse__Output>): grpc.ClientUnaryCall;
  getDeletionBlockers(argument: _fitness_identity_v1_GetDeletionBlockersRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_identity_v1_GetDeletionBlockersResponse__Output>): grpc.ClientUnaryCall;
  getDeletionBlockers(argument: _fitness_identity_v1_GetDeletionBlockersRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_identity_v1_GetDeletionBlockersResponse__Output>): grpc.ClientUnaryCall;
  getDeletionBlockers(argument: _fitness_identity_v1_GetDeletionBlockersRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_identity_v1_GetDeletionBlockersResponse__Output>): grpc.ClientUnaryCall;
  getDeletionBlockers(argument: _fitness_identity_v1_GetDeletionBlockersRequest, callback: grpc.requestCallback<_fitness_identity_v1_GetDeletionBlockersResponse__Output>): grpc.ClientUnaryCall;
  
  GetHiddenUsers(argument: _fitness_identity_v1_GetHiddenUsersRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_identity_v1_GetHiddenUsersResponse__Output>): grpc.ClientUnaryCall;
  GetHiddenUsers(argument: _fitness_identity_v1_GetHiddenUsersRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_identity_v1_GetHiddenUsersResponse__Output>): grpc.ClientUnaryCall;
  GetHiddenUsers(argument: _fitness_identity_v1_GetHiddenUsersRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_identity_v1_GetHiddenUsersResponse__Output>): grpc.ClientUnaryCall;
  GetHiddenUsers(argument: _fitness_identity_v1_GetHiddenUsersRequest, callback: grpc.requestCallback<_fitness_identity_v1_GetHiddenUsersResponse__Output>): grpc.ClientUnaryCall;
  getHiddenUsers(argument: _fitness_identity_v1_GetHiddenUsersRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_identity_v1_GetHiddenUsersResponse__Output>): grpc.ClientUnaryCall;
  getHiddenUsers(argument: _fitness_identity_v1_GetHiddenUsersRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_identity_v1_GetHiddenUsersResponse__Output>): grpc.ClientUnaryCall;
  getHiddenUsers(argument: _fitness_identity_v1_GetHiddenUsersRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_identity_v1_GetHiddenUsersResponse__Output>): grpc.ClientUnaryCall;
  getHiddenUsers(argument: _fitness_identity_v1_GetHiddenUsersRequest, callback: grpc.requestCallback<_fitness_identity_v1_GetHiddenUsersResponse__Output>): grpc.ClientUnaryCall;
  
  GetUsers(argument: _fitness_identity_v1_GetUsersRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_identity_v1_GetUsersResponse__Output>): grpc.ClientUnaryCall;
  GetUsers(argument: _fitness_identity_v1_GetUsersRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_identity_v1_GetUsersResponse__Output>): grpc.ClientUnaryCall;
  GetUsers(argument: _fitness_identity_v1_GetUsersRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_identity_v1_GetUsersResponse__Output>): grpc.ClientUnaryCall;
  GetUsers(argument: _fitness_identity_v1_GetUsersRequest, callback: grpc.requestCallback<_fitness_identity_v1_GetUsersResponse__Output>): grpc.ClientUnaryCall;
  getUsers(argument: _fitness_identity_v1_GetUsersRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_identity_v1_GetUsersResponse__Output>): grpc.ClientUnaryCall;
  getUsers(argument: _fitness_identity_v1_GetUsersRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_identity_v1_GetUsersResponse__Output>): grpc.ClientUnaryCall;
  getUsers(argument: _fitness_identity_v1_GetUsersRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_identity_v1_GetUsersResponse__Output>): grpc.ClientUnaryCall;
  getUsers(argument: _fitness_identity_v1_GetUsersRequest, callback: grpc.requestCallback<_fitness_identity_v1_GetUsersResponse__Output>): grpc.ClientUnaryCall;
  
  Introspect(argument: _fitness_identity_v1_IntrospectRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_identity_v1_IntrospectResponse__Output>): grpc.ClientUnaryCall;
  Introspect(argument: _fitness_identity_v1_IntrospectRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_identity_v1_IntrospectResponse__Output>): grpc.ClientUnaryCall;
  Introspect(argument: _fitness_identity_v1_IntrospectRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_identity_v1_IntrospectResponse__Output>): grpc.ClientUnaryCall;
  Introspect(argument: _fitness_identity_v1_IntrospectRequest, callback: grpc.requestCallback<_fitness_identity_v1_IntrospectResponse__Output>): grpc.ClientUnaryCall;
  introspect(argument: _fitness_identity_v1_IntrospectRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_identity_v1_IntrospectResponse__Output>): grpc.ClientUnaryCall;
  introspect(argument: _fitness_identity_v1_IntrospectRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_identity_v1_IntrospectResponse__Output>): grpc.ClientUnaryCall;
  introspect(argument: _fitness_identity_v1_IntrospectRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_identity_v1_IntrospectResponse__Output>): grpc.ClientUnaryCall;
  introspect(argument: _fitness_identity_v1_IntrospectRequest, callback: grpc.requestCallback<_fitness_identity_v1_IntrospectResponse__Output>): grpc.ClientUnaryCall;
  
  ShowUsers(argument: _fitness_identity_v1_ShowUsersRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_identity_v1_ShowUsersResponse__Output>): grpc.ClientUnaryCall;
  ShowUsers(argument: _fitness_identity_v1_ShowUsersRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_identity_v1_ShowUsersResponse__Output>): grpc.ClientUnaryCall;
  ShowUsers(argument: _fitness_identity_v1_ShowUsersRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_identity_v1_ShowUsersResponse__Output>): grpc.ClientUnaryCall;
  ShowUsers(argument: _fitness_identity_v1_ShowUsersRequest, callback: grpc.requestCallback<_fitness_identity_v1_ShowUsersResponse__Output>): grpc.ClientUnaryCall;
  showUsers(argument: _fitness_identity_v1_ShowUsersRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_identity_v1_ShowUsersResponse__Output>): grpc.ClientUnaryCall;
  showUsers(argument: _fitness_identity_v1_ShowUsersRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_identity_v1_ShowUsersResponse__Output>): grpc.ClientUnaryCall;
  showUsers(argument: _fitness_identity_v1_ShowUsersRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_identity_v1_ShowUsersResponse__Output>): grpc.ClientUnaryCall;
  showUsers(argument: _fitness_identity_v1_ShowUsersRequest, callback: grpc.requestCallback<_fitness_identity_v1_ShowUsersResponse__Output>): grpc.ClientUnaryCall;
  
}

export interface IdentityHandlers extends grpc.UntypedServiceImplementation {
  AttachLicense: grpc.handleUnaryCall<_fitness_identity_v1_AttachLicenseRequest__Output, _fitness_identity_v1_AttachLicenseResponse>;
  
  GetDeletionBlockers: grpc.handleUnaryCall<_fitness_identity_v1_GetDeletionBlockersRequest__Output, _fitness_identity_v1_GetDeletionBlockersResponse>;
  
  GetHiddenUsers: grpc.handleUnaryCall<_fitness_identity_v1_GetHiddenUsersRequest__Output, _fitness_identity_v1_GetHiddenUsersResponse>;
  
  GetUsers: grpc.handleUnaryCall<_fitness_identity_v1_GetUsersRequest__Output, _fitness_identity_v1_GetUsersResponse>;
  
  Introspect: grpc.handleUnaryCall<_fitness_identity_v1_IntrospectRequest__Output, _fitness_identity_v1_IntrospectResponse>;
  
  ShowUsers: grpc.handleUnaryCall<_fitness_identity_v1_ShowUsersRequest__Output, _fitness_identity_v1_ShowUsersResponse>;
  
}

export interface IdentityDefinition extends grpc.ServiceDefinition {
  AttachLicense: MethodDefinition<_fitness_identity_v1_AttachLicenseRequest, _fitness_identity_v1_AttachLicenseResponse, _fitness_identity_v1_AttachLicenseRequest__Output, _fitness_identity_v1_AttachLicenseResponse__Output>
  GetDeletionBlockers: MethodDefinition<_fitness_identity_v1_GetDeletionBlockersRequest, _fitness_identity_v1_GetDeletionBlockersResponse, _fitness_identity_v1_GetDeletionBlockersRequest__Output, _fitness_identity_v1_GetDeletionBlockersResponse__Output>
  GetHiddenUsers: MethodDefinition<_fitness_identity_v1_GetHiddenUsersRequest, _fitness_identity_v1_GetHiddenUsersResponse, _fitness_identity_v1_GetHiddenUsersRequest__Output, _fitness_identity_v1_GetHiddenUsersResponse__Output>
  GetUsers: MethodDefinition<_fitness_identity_v1_GetUsersRequest, _fitness_identity_v1_GetUsersResponse, _fitness_identity_v1_GetUsersRequest__Output, _fitness_identity_v1_GetUsersResponse__Output>
  Introspect: MethodDefinition<_fitness_identity_v1_IntrospectRequest, _fitness_identity_v1_IntrospectResponse, _fitness_identity_v1_IntrospectRequest__Output, _fitness_identity_v1_IntrospectResponse__Output>
  ShowUsers: MethodDefinition<_fitness_identity_v1_ShowUsersRequest, _fitness_identity_v1_ShowUsersResponse, _fitness_identity_v1_ShowUsersRequest__Output, _fitness_identity_v1_ShowUsersResponse__Output>
}
