import { z } from 'zod';
import type { Dependencies } from '../dependencies.ts';

export const pricesSchema = z
  .object({
    premium: z.object({ plus: z.int() }).meta({ id: 'PremiumPrices' }),
    boosts: z.object({ basic: z.int(), pro: z.int() }).meta({ id: 'BoostPrices' }),
    gateway_fee_percent: z.number(),
    commission_percent: z.number(),
    vat_percent: z.number(),
  })
  .meta({ id: 'Prices' });

/** Prices in Tooman. Throws 503 when store-billing, which owns them, does not answer. */
export type ListPrices = () => Promise<z.output<typeof pricesSchema>>;

export const createListPrices =
  ({ priceList, rates }: Pick<Dependencies, 'priceList' | 'rates'>): ListPrices =>
  async () => {
    const { premiumPlus, boostBasic, boostPro } = await priceList.get();
    return {
      premium: { plus: premiumPlus },
      boosts: { basic: boostBasic, pro: boostPro },
      gateway_fee_percent: rates.gatewayFeePercent,
      commission_percent: rates.commissionPercent,
      vat_percent: rates.vatPercent,
    };
  };
