import type * as grpc from '@grpc/grpc-js';
import type { MessageTypeDefinition } from '@grpc/proto-loader';

import type { StoreBillingClient as _fitness_store_billing_v1_StoreBillingClient, StoreBillingDefinition as _fitness_store_billing_v1_StoreBillingDefinition } from './fitness/store_billing/v1/StoreBilling.ts';

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  fitness: {
    store_billing: {
      v1: {
        Boost: MessageTypeDefinition
        BoostTarget: MessageTypeDefinition
        GetBoostsRequest: MessageTypeDefinition
        GetBoostsResponse: MessageTypeDefinition
        GetPricesRequest: MessageTypeDefinition
        GetPricesResponse: MessageTypeDefinition
        GetSubscriptionsRequest: MessageTypeDefinition
        GetSubscriptionsResponse: MessageTypeDefinition
        StoreBilling: SubtypeConstructor<typeof grpc.Client, _fitness_store_billing_v1_StoreBillingClient> & { service: _fitness_store_billing_v1_StoreBillingDefinition }
        Subscription: MessageTypeDefinition
      }
    }
  }
}

