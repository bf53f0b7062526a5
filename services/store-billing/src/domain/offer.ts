/** The catalogue: SKUs, prices and durations. */
import { DAY_MS } from '@fitness/shared/kernel/clock.ts';
import { addCalendarMonth } from './calendar.ts';

export const BOOST_LEVELS = ['basic', 'pro'] as const;

export type BoostLevel = (typeof BOOST_LEVELS)[number];

interface PremiumOffer {
  kind: 'premium';
  type: 'plus';
  /** Whole Tooman. */
  price: number;
}

interface BoostOffer {
  kind: 'boost';
  name: BoostLevel;
  /** The level in the resource: basic 1, pro 2. */
  level: number;
  days: number;
  /** Whole Tooman. */
  price: number;
}

export type Offer = PremiumOffer | BoostOffer;

interface OfferTerms {
  premiumPlusRial: number;
  boostBasicRial: number;
  boostProRial: number;
  boostBasicDays: number;
  boostProDays: number;
}

export interface Catalogue {
  premium: PremiumOffer;
  boosts: Readonly<Record<BoostLevel, BoostOffer>>;
  /** `productId`: the SKU at the stores. */
  bySku(productId: string): Offer | undefined;
}

const RIAL_PER_TOOMAN = 10;

export const createCatalogue = (terms: OfferTerms): Catalogue => {
  const premium: PremiumOffer = {
    kind: 'premium',
    type: 'plus',
    price: terms.premiumPlusRial / RIAL_PER_TOOMAN,
  };
  const basic: BoostOffer = {
    kind: 'boost',
    name: 'basic',
    level: 1,
    days: terms.boostBasicDays,
    price: terms.boostBasicRial / RIAL_PER_TOOMAN,
  };
  const pro: BoostOffer = {
    kind: 'boost',
    name: 'pro',
    level: 2,
    days: terms.boostProDays,
    price: terms.boostProRial / RIAL_PER_TOOMAN,
  };
  const skus = new Map<string, Offer>([
    ['premium_plus', premium],
    ['boost_basic', basic],
    ['boost_pro', pro],
  ]);
  return { premium, boosts: { basic, pro }, bySku: (productId) => skus.get(productId) };
};

/** The end of a grant that starts at `start`. */
export const endOf = (offer: Offer, start: Date): Date =>
  offer.kind === 'premium' ? addCalendarMonth(start) : new Date(start.getTime() + offer.days * DAY_MS);
