// Original file: proto/store_billing/v1/store_billing.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { GetBoostsRequest as _fitness_store_billing_v1_GetBoostsRequest, GetBoostsRequest__Output as _fitness_store_billing_v1_GetBoostsRequest__Output } from '../../../fitness/store_billing/v1/GetBoostsRequest.ts';
import type { GetBoostsResponse as _fitness_store_billing_v1_GetBoostsResponse, GetBoostsResponse__Output as _fitness_store_billing_v1_GetBoostsResponse__Output } from '../../../fitness/store_billing/v1/GetBoostsResponse.ts';
import type { GetPricesRequest as _fitness_store_billing_v1_GetPricesRequest, GetPricesRequest__Output as _fitness_store_billing_v1_GetPricesRequest__Output } from '../../../fitness/store_billing/v1/GetPricesRequest.ts';
import type { GetPricesResponse as _fitness_store_billing_v1_GetPricesResponse, GetPricesResponse__Output as _fitness_store_billing_v1_GetPricesResponse__Output } from '../../../fitness/store_billing/v1/GetPricesResponse.ts';
import type { GetSubscriptionsRequest as _fitness_store_billing_v1_GetSubscriptionsRequest, GetSubscriptionsRequest__Output as _fitness_store_billing_v1_GetSubscriptionsRequest__Output } from '../../../fitness/store_billing/v1/GetSubscriptionsRequest.ts';
import type { GetSubscriptionsResponse as _fitness_store_billing_v1_GetSubscriptionsResponse, GetSubscriptionsResponse__Output as _fitness_store_billing_v1_GetSubscriptionsResponse__Output } from '../../../fitness/store_billing/v1/GetSubscriptionsResponse.ts';

export interface StoreBillingClient extends grpc.Client {
  GetBoosts(argument: _fitness_store_billing_v1_GetBoostsRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_store_billing_v1_GetBoostsResponse__Output>): grpc.ClientUnaryCall;
  GetBoosts(argument: _fitness_store_billing_v1_GetBoostsRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_store_billing_v1_GetBoostsResponse__Output>): grpc.ClientUnaryCall;
  GetBoosts(argument: _fitness_store_billing_v1_GetBoostsRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_store_billing_v1_GetBoostsResponse__Output>): grpc.ClientUnaryCall;
  GetBoosts(argument: _fitness_store_billing_v1_GetBoostsRequest, callback: grpc.requestCallback<_fitness_store_billing_v1_GetBoostsResponse__Output>): grpc.ClientUnaryCall;
  getBoosts(argument: _fitness_store_billing_v1_GetBoostsRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_store_billing_v1_GetBoostsResponse__Output>): grpc.ClientUnaryCall;
  getBoosts(argument: _fitness_store_billing_v1_GetBoostsRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_store_billing_v1_GetBoostsResponse__Output>): grpc.ClientUnaryCall;
  getBoosts(argument: _fitness_store_billing_v1_GetBoostsRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_store_billing_v1_GetBoostsResponse__Output>): grpc.ClientUnaryCall;
  getBoosts(argument: _fitness_store_billing_v1_GetBoostsRequest, callback: grpc.requestCallback<_fitness_store_billing_v1_GetBoostsResponse__Output>): grpc.ClientUnaryCall;
  
  GetPrices(argument: _fitness_store_billing_v1_GetPricesRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_store_billing_v1_GetPricesResponse__Output>): grpc.ClientUnaryCall;
  GetPrices(argument: _fitness_store_billing_v1_GetPricesRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_store_billing_v1_GetPricesResponse__Output>): grpc.ClientUnaryCall;
  GetPrices(argument: _fitness_store_billing_v1_GetPricesRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_store_billing_v1_GetPricesResponse__Output>): grpc.ClientUnaryCall;
  GetPrices(argument: _fitness_store_billing_v1_GetPricesRequest, callback: grpc.requestCallback<_fitness_store_billing_v1_GetPricesResponse__Output>): grpc.ClientUnaryCall;
  getPrices(argument: _fitness_store_billing_v1_GetPricesRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_store_billing_v1_GetPricesResponse__Output>): grpc.ClientUnaryCall;
  getPrices(argument: _fitness_store_billing_v1_GetPricesRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_store_billing_v1_GetPricesResponse__Output>): grpc.ClientUnaryCall;
  getPrices(argument: _fitness_store_billing_v1_GetPricesRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_store_billing_v1_GetPricesResponse__Output>): grpc.ClientUnaryCall;
  getPrices(argument: _fitness_store_billing_v1_GetPricesRequest, callback: grpc.requestCallback<_fitness_store_billing_v1_GetPricesResponse__Output>): grpc.ClientUnaryCall;
  
  GetSubscriptions(argument: _fitness_store_billing_v1_GetSubscriptionsRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_store_billing_v1_GetSubscriptionsResponse__Output>): grpc.ClientUnaryCall;
  GetSubscriptions(argument: _fitness_store_billing_v1_GetSubscriptionsRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_store_billing_v1_GetSubscriptionsResponse__Output>): grpc.ClientUnaryCall;
  GetSubscriptions(argument: _fitness_store_billing_v1_GetSubscriptionsRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_store_billing_v1_GetSubscriptionsResponse__Output>): grpc.ClientUnaryCall;
  GetSubscriptions(argument: _fitness_store_billing_v1_GetSubscriptionsRequest, callback: grpc.requestCallback<_fitness_store_billing_v1_GetSubscriptionsResponse__Output>): grpc.ClientUnaryCall;
  getSubscriptions(argument: _fitness_store_billing_v1_GetSubscriptionsRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_store_billing_v1_GetSubscriptionsResponse__Output>): grpc.ClientUnaryCall;
  getSubscriptions(argument: _fitness_store_billing_v1_GetSubscriptionsRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_store_billing_v1_GetSubscriptionsResponse__Output>): grpc.ClientUnaryCall;
  getSubscriptions(argument: _fitness_store_billing_v1_GetSubscriptionsRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_store_billing_v1_GetSubscriptionsResponse__Output>): grpc.ClientUnaryCall;
  getSubscriptions(argument: _fitness_store_billing_v1_GetSubscriptionsRequest, callback: grpc.requestCallback<_fitness_store_billing_v1_GetSubscriptionsResponse__Output>): grpc.ClientUnaryCall;
  
}

export interface StoreBillingHandlers extends grpc.UntypedServiceImplementation {
  GetBoosts: grpc.handleUnaryCall<_fitness_store_billing_v1_GetBoostsRequest__Output, _fitness_store_billing_v1_GetBoostsResponse>;
  
  GetPrices: grpc.handleUnaryCall<_fitness_store_billing_v1_GetPricesRequest__Output, _fitness_store_billing_v1_GetPricesResponse>;
  
  GetSubscriptions: grpc.handleUnaryCall<_fitness_store_billing_v1_GetSubscriptionsRequest__Output, _fitness_store_billing_v1_GetSubscriptionsResponse>;
  
}

export interface StoreBillingDefinition extends grpc.ServiceDefinition {
  GetBoosts: MethodDefinition<_fitness_store_billing_v1_GetBoostsRequest, _fitness_store_billing_v1_GetBoostsResponse, _fitness_store_billing_v1_GetBoostsRequest__Output, _fitness_store_billing_v1_GetBoostsResponse__Output>
  GetPrices: MethodDefinition<_fitness_store_billing_v1_GetPricesRequest, _fitness_store_billing_v1_GetPricesResponse, _fitness_store_billing_v1_GetPricesRequest__Output, _fitness_store_billing_v1_GetPricesResponse__Output>
  GetSubscriptions: MethodDefinition<_fitness_store_billing_v1_GetSubscriptionsRequest, _fitness_store_billing_v1_GetSubscriptionsResponse, _fitness_store_billing_v1_GetSubscriptionsRequest__Output, _fitness_store_billing_v1_GetSubscriptionsResponse__Output>
}
