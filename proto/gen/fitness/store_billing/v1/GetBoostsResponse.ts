// Original file: proto/store_billing/v1/store_billing.proto

import type { Boost as _fitness_store_billing_v1_Boost, Boost__Output as _fitness_store_billing_v1_Boost__Output } from '../../../fitness/store_billing/v1/Boost.ts';

export interface GetBoostsResponse {
  'boosts'?: (_fitness_store_billing_v1_Boost)[];
}

export interface GetBoostsResponse__Output {
  'boosts': (_fitness_store_billing_v1_Boost__Output)[];
}
