// Original file: proto/store_billing/v1/store_billing.proto

import type { BoostTarget as _fitness_store_billing_v1_BoostTarget, BoostTarget__Output as _fitness_store_billing_v1_BoostTarget__Output } from '../../../fitness/store_billing/v1/BoostTarget.ts';

export interface GetBoostsRequest {
  'targets'?: (_fitness_store_billing_v1_BoostTarget)[];
}

export interface GetBoostsRequest__Output {
  'targets': (_fitness_store_billing_v1_BoostTarget__Output)[];
}
