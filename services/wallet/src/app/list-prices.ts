import type { WalletDeps } from './deps.ts';

/** Tooman, and percent where it says so. */
interface Prices {
  premium: { plus: number };
  boosts: { basic: number; pro: number };
  gateway_fee_percent: number;
  commission_percent: number;
  vat_percent: number;
}

/** Throws 503 when store-billing, which owns the prices of its goods, does not answer. */
export type ListPrices = () => Promise<Prices>;

export const createListPrices =
  ({ priceList, rates }: Pick<WalletDeps, 'priceList' | 'rates'>): ListPrices =>
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
