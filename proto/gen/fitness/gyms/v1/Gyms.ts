// Original file: proto/gyms/v1/gyms.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { AttachLicenseRequest as _fitness_gyms_v1_AttachLicenseRequest, AttachLicenseRequest__Output as _fitness_gyms_v1_AttachLicenseRequest__Output } from '../../../fitness/gyms/v1/AttachLicenseRequest.ts';
import type { AttachLicenseResponse as _fitness_gyms_v1_AttachLicenseResponse, AttachLicenseResponse__Output as _fitness_gyms_v1_AttachLicenseResponse__Output } from '../../../fitness/gyms/v1/AttachLicenseResponse.ts';
import type { GetGymsRequest as _fitness_gyms_v1_GetGymsRequest, GetGymsRequest__Output as _fitness_gyms_v1_GetGymsRequest__Output } from '../../../fitness/gyms/v1/GetGymsRequest.ts';
import type { GetGymsResponse as _fitness_gyms_v1_GetGymsResponse, GetGymsResponse__Output as _fitness_gyms_v1_GetGymsResponse__Output } from '../../../fitness/gyms/v1/GetGymsResponse.ts';

export interface GymsClient extends grpc.Client {
  AttachLicense(argument: _fitness_gyms_v1_AttachLicenseRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_gyms_v1_AttachLicenseResponse__Output>): grpc.ClientUnaryCall;
  AttachLicense(argument: _fitness_gyms_v1_AttachLicenseRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_gyms_v1_AttachLicenseResponse__Output>): grpc.ClientUnaryCall;
  AttachLicense(argument: _fitness_gyms_v1_AttachLicenseRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_gyms_v1_AttachLicenseResponse__Output>): grpc.ClientUnaryCall;
  AttachLicense(argument: _fitness_gyms_v1_AttachLicenseRequest, callback: grpc.requestCallback<_fitness_gyms_v1_AttachLicenseResponse__Output>): grpc.ClientUnaryCall;
  attachLicense(argument: _fitness_gyms_v1_AttachLicenseRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_gyms_v1_AttachLicenseResponse__Output>): grpc.ClientUnaryCall;
  attachLicense(argument: _fitness_gyms_v1_AttachLicenseRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_gyms_v1_AttachLicenseResponse__Output>): grpc.ClientUnaryCall;
  attachLicense(argument: _fitness_gyms_v1_AttachLicenseRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_gyms_v1_AttachLicenseResponse__Output>): grpc.ClientUnaryCall;
  attachLicense(argument: _fitness_gyms_v1_AttachLicenseRequest, callback: grpc.requestCallback<_fitness_gyms_v1_AttachLicenseResponse__Output>): grpc.ClientUnaryCall;
  
  GetGyms(argument: _fitness_gyms_v1_GetGymsRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_gyms_v1_GetGymsResponse__Output>): grpc.ClientUnaryCall;
  GetGyms(argument: _fitness_gyms_v1_GetGymsRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_gyms_v1_GetGymsResponse__Output>): grpc.ClientUnaryCall;
  GetGyms(argument: _fitness_gyms_v1_GetGymsRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_gyms_v1_GetGymsResponse__Output>): grpc.ClientUnaryCall;
  GetGyms(argument: _fitness_gyms_v1_GetGymsRequest, callback: grpc.requestCallback<_fitness_gyms_v1_GetGymsResponse__Output>): grpc.ClientUnaryCall;
  getGyms(argument: _fitness_gyms_v1_GetGymsRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_gyms_v1_GetGymsResponse__Output>): grpc.ClientUnaryCall;
  getGyms(argument: _fitness_gyms_v1_GetGymsRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_gyms_v1_GetGymsResponse__Output>): grpc.ClientUnaryCall;
  getGyms(argument: _fitness_gyms_v1_GetGymsRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_gyms_v1_GetGymsResponse__Output>): grpc.ClientUnaryCall;
  getGyms(argument: _fitness_gyms_v1_GetGymsRequest, callback: grpc.requestCallback<_fitness_gyms_v1_GetGymsResponse__Output>): grpc.ClientUnaryCall;
  
}

export interface GymsHandlers extends grpc.UntypedServiceImplementation {
  AttachLicense: grpc.handleUnaryCall<_fitness_gyms_v1_AttachLicenseRequest__Output, _fitness_gyms_v1_AttachLicenseResponse>;
  
  GetGyms: grpc.handleUnaryCall<_fitness_gyms_v1_GetGymsRequest__Output, _fitness_gyms_v1_GetGymsResponse>;
  
}

export interface GymsDefinition extends grpc.ServiceDefinition {
  AttachLicense: MethodDefinition<_fitness_gyms_v1_AttachLicenseRequest, _fitness_gyms_v1_AttachLicenseResponse, _fitness_gyms_v1_AttachLicenseRequest__Output, _fitness_gyms_v1_AttachLicenseResponse__Output>
  GetGyms: MethodDefinition<_fitness_gyms_v1_GetGymsRequest, _fitness_gyms_v1_GetGymsResponse, _fitness_gyms_v1_GetGymsRequest__Output, _fitness_gyms_v1_GetGymsResponse__Output>
}
