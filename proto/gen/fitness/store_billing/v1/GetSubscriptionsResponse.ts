// Original file: proto/store_billing/v1/store_billing.proto

import type { Subscription as _fitness_store_billing_v1_Subscription, Subscription__Output as _fitness_store_billing_v1_Subscription__Output } from '../../../fitness/store_billing/v1/Subscription.ts';

export interface GetSubscriptionsResponse {
  'subscriptions'?: (_fitness_store_billing_v1_Subscription)[];
}

export interface GetSubscriptionsResponse__Output {
  'subscriptions': (_fitness_store_billing_v1_Subscription__Output)[];
}
