// Original file: proto/wallet/v1/wallet.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { BookRequest as _fitness_wallet_v1_BookRequest, BookRequest__Output as _fitness_wallet_v1_BookRequest__Output } from '../../../fitness/wallet/v1/BookRequest.ts';
import type { BookResponse as _fitness_wallet_v1_BookResponse, BookResponse__Output as _fitness_wallet_v1_BookResponse__Output } from '../../../fitness/wallet/v1/BookResponse.ts';
import type { GetRatesRequest as _fitness_wallet_v1_GetRatesRequest, GetRatesRequest__Output as _fitness_wallet_v1_GetRatesRequest__Output } from '../../../fitness/wallet/v1/GetRatesRequest.ts';
import type { GetRatesResponse as _fitness_wallet_v1_GetRatesResponse, GetRatesResponse__Output as _fitness_wallet_v1_GetRatesResponse__Output } from '../../../fitness/wallet/v1/GetRatesResponse.ts';

export interface WalletClient extends grpc.Client {
  Book(argument: _fitness_wallet_v1_BookRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_wallet_v1_BookResponse__Output>): grpc.ClientUnaryCall;
  Book(argument: _fitness_wallet_v1_BookRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_wallet_v1_BookResponse__Output>): grpc.ClientUnaryCall;
  Book(argument: _fitness_wallet_v1_BookRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_wallet_v1_BookResponse__Output>): grpc.ClientUnaryCall;
  Book(argument: _fitness_wallet_v1_BookRequest, callback: grpc.requestCallback<_fitness_wallet_v1_BookResponse__Output>): grpc.ClientUnaryCall;
  book(argument: _fitness_wallet_v1_BookRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_wallet_v1_BookResponse__Output>): grpc.ClientUnaryCall;
  book(argument: _fitness_wallet_v1_BookRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_wallet_v1_BookResponse__Output>): grpc.ClientUnaryCall;
  book(argument: _fitness_wallet_v1_BookRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_wallet_v1_BookResponse__Output>): grpc.ClientUnaryCall;
  book(argument: _fitness_wallet_v1_BookRequest, callback: grpc.requestCallback<_fitness_wallet_v1_BookResponse__Output>): grpc.ClientUnaryCall;
  
  GetRates(argument: _fitness_wallet_v1_GetRatesRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_wallet_v1_GetRatesResponse__Output>): grpc.ClientUnaryCall;
  GetRates(argument: _fitness_wallet_v1_GetRatesRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_wallet_v1_GetRatesResponse__Output>): grpc.ClientUnaryCall;
  GetRates(argument: _fitness_wallet_v1_GetRatesRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_wallet_v1_GetRatesResponse__Output>): grpc.ClientUnaryCall;
  GetRates(argument: _fitness_wallet_v1_GetRatesRequest, callback: grpc.requestCallback<_fitness_wallet_v1_GetRatesResponse__Output>): grpc.ClientUnaryCall;
  getRates(argument: _fitness_wallet_v1_GetRatesRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_wallet_v1_GetRatesResponse__Output>): grpc.ClientUnaryCall;
  getRates(argument: _fitness_wallet_v1_GetRatesRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_fitness_wallet_v1_GetRatesResponse__Output>): grpc.ClientUnaryCall;
  getRates(argument: _fitness_wallet_v1_GetRatesRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_fitness_wallet_v1_GetRatesResponse__Output>): grpc.ClientUnaryCall;
  getRates(argument: _fitness_wallet_v1_GetRatesRequest, callback: grpc.requestCallback<_fitness_wallet_v1_GetRatesResponse__Output>): grpc.ClientUnaryCall;
  
}

export interface WalletHandlers extends grpc.UntypedServiceImplementation {
  Book: grpc.handleUnaryCall<_fitness_wallet_v1_BookRequest__Output, _fitness_wallet_v1_BookResponse>;
  
  GetRates: grpc.handleUnaryCall<_fitness_wallet_v1_GetRatesRequest__Output, _fitness_wallet_v1_GetRatesResponse>;
  
}

export interface WalletDefinition extends grpc.ServiceDefinition {
  Book: MethodDefinition<_fitness_wallet_v1_BookRequest, _fitness_wallet_v1_BookResponse, _fitness_wallet_v1_BookRequest__Output, _fitness_wallet_v1_BookResponse__Output>
  GetRates: MethodDefinition<_fitness_wallet_v1_GetRatesRequest, _fitness_wallet_v1_GetRatesResponse, _fitness_wallet_v1_GetRatesRequest__Output, _fitness_wallet_v1_GetRatesResponse__Output>
}
