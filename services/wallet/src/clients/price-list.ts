/** Client for the prices that store-billing owns. */
import type { StoreBillingDefinition } from '@fitness/proto/gen/fitness/store_billing/v1/StoreBilling.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';

/** In whole Tooman. */
interface Prices {
  premiumPlus: number;
  boostBasic: number;
  boostPro: number;
}

export interface PriceList {
  /** Throws `unavailable` without a response. */
  get(): Promise<Prices>;
}

export const createPriceList = (storeBilling: GrpcClient<StoreBillingDefinition>): PriceList => ({
  get: async () => {
    const prices = await storeBilling.call('GetPrices', {}, { retry: true });
    return {
      premiumPlus: prices.premium_plus,
      boostBasic: prices.boost_basic,
      boostPro: prices.boost_pro,
    };
  },
});
