/** The details of a store purchase that cannot be granted, which an operator needs to refund it in the store console. */
import { isAppError, message } from '@fitness/shared/kernel/error.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { time } from '@fitness/shared/pages/views.ts';
import { memberLink, type Names, readNames } from './members.ts';
import { amountOf, copyable, factsOf, idText, type Operator, read, wordOf } from './section.ts';

export interface Refund {
  id: number;
  channel: string;
  product_id: string;
  purchase_token: string;
  user_id: number;
  boostable_type: string | null;
  boostable_id: number | null;
  reason: string;
  created_at: string;
}

const REASONS = {
  already_running: 'ops.refund.already_running',
  target_gone: 'ops.refund.target_gone',
} as const;

const STORES = { cafebazaar: 'ops.store.cafebazaar', myket: 'ops.store.myket' } as const;

const TARGETS = { gym: 'ops.subject.gym', training_service: 'ops.subject.training_service' } as const;

export const readBuyers = (operator: Operator, refunds: readonly Refund[]): Promise<Names> =>
  readNames(
    operator,
    refunds.map(({ user_id: id }) => id),
  );

const PRODUCTS = ['premium_plus', 'boost_basic', 'boost_pro'] as const;
type Product = (typeof PRODUCTS)[number];

const productOf = (id: string): Product | undefined => PRODUCTS.find((product) => product === id);

/** The product name, or the id if the product is no longer in the catalogue. */
export const productName = ({ t }: Operator, id: string): string => {
  const product = productOf(id);
  return product === undefined ? id : t(message(`ops.product.${product}`));
};

/** Current prices of the catalogue, in Tooman. Undefined if the wallet does not answer. */
export type Prices = Readonly<Record<Product, number>> | undefined;

/** Reads the prices. The page reports missing ones, because a refund can be decided without the price. */
export const readPrices = async (operator: Operator): Promise<Prices> => {
  try {
    const { premium, boosts } = (await read(operator, '/payments/prices')).data as {
      premium: { plus: number };
      boosts: { basic: number; pro: number };
    };
    return { premium_plus: premium.plus, boost_basic: boosts.basic, boost_pro: boosts.pro };
  } catch (error) {
    if (!isAppError(error) || error.kind !== 'unavailable') throw error;
    return undefined;
  }
};

/** Undefined if the price is not known. */
const priceOf = ({ product_id: id }: Refund, prices: Prices): number | undefined => {
  const product = productOf(id);
  return product && prices?.[product];
};

const priceFact = ({ t }: Operator, refund: Refund, prices: Prices): Html | null => {
  if (prices === undefined) return html`${t(message('ops.product.price.unknown'))}`;
  const price = priceOf(refund, prices);
  return price === undefined ? null : amountOf(t, price);
};

const targetOf = ({ t }: Operator, { boostable_type: type, boostable_id: id }: Refund): Html | null =>
  type == null || id == null ? null : html`${wordOf(t, TARGETS, type)} <bdi dir="ltr">${idText(t, id)}</bdi>`;

export const refundFacts = (operator: Operator, refund: Refund, buyers: Names, prices: Prices): Html => {
  const { user_id: userId } = refund;
  const { t } = operator;
  return factsOf(t, [
    ['ops.user', memberLink(operator, buyers.get(userId), userId)],
    ['ops.product', productName(operator, refund.product_id)],
    ['ops.product.price', priceFact(operator, refund, prices)],
    ['ops.product.id', refund.product_id],
    ['ops.store', wordOf(t, STORES, refund.channel)],
    ['ops.refund.target', targetOf(operator, refund)],
    ['ops.refund.token', copyable(t, refund.purchase_token)],
    ['ops.reason', wordOf(t, REASONS, refund.reason)],
    ['ops.created', time(operator, refund.created_at)],
  ]);
};
