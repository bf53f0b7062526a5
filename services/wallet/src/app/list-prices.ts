import { z } from 'zod';
import type { Dependencies } from '../dependencies.ts';

export const pricesSchema = z
  .object({
    premium: z
      .object({ plus: z.int().meta({ description: 'One month of the plus plan, in Tooman' }) })
      .meta({ id: 'PremiumPrices', description: 'Prices of premium subscriptions, in Tooman' }),
    boosts: z
      .object({
        basic: z.int().meta({ description: 'A basic boost, in Tooman' }),
        pro: z.int().meta({ description: 'A pro boost, in Tooman' }),
      })
      .meta({ id: 'BoostPrices', description: 'Prices of boosts by level, in Tooman' }),
    gateway_fee_percent: z
      .number()
      .meta({ description: 'Fee on a deposit, in percent of its amount; the payer pays it on top' }),
    commission_percent: z
      .number()
      .meta({ description: 'Commission on the sale of a training service, in percent of its price' }),
    vat_percent: z.number().meta({
      description: 'VAT contained in fees, commissions and prices, in percent; 0 if no rate is in force',
    }),
  })
  .meta({ id: 'Prices', description: 'What the platform charges. Amounts are in Tooman, rates in percent.' });

/** Prices in Tooman. Throws 503 when store-billing, which owns them, does not respond. */
export type ListPrices = () => Promise<z.output<typeof pricesSchema>>;

export const createListPrices =
  ({ priceList, rates }: Dependencies): ListPrices =>
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
