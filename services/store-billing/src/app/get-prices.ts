import type { Dependencies } from '../dependencies.ts';

/** In whole Tooman. */
interface Prices {
  premiumPlus: number;
  boostBasic: number;
  boostPro: number;
}

export const createGetPrices =
  ({ catalogue }: Pick<Dependencies, 'catalogue'>) =>
  (): Prices => ({
    premiumPlus: catalogue.premium.price,
    boostBasic: catalogue.boosts.basic.price,
    boostPro: catalogue.boosts.pro.price,
  });
