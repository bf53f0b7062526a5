import type { Dependencies } from '../dependencies.ts';

/** In whole Tooman. */
interface Prices {
  premiumPlus: number;
  boostBasic: number;
  boostPro: number;
}

export const createGetPrices =
  ({ catalogue }: Dependencies) =>
  (): Prices => ({
    premiumPlus: catalogue.premium.price,
    boostBasic: catalogue.boosts.basic.price,
    boostPro: catalogue.boosts.pro.price,
  });
