/** The details of a store purchase that cannot be granted, which an operator needs to refund it in the store console. */
import { message } from '@fitness/shared/kernel/error.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { time } from '../views.ts';
import { memberLink, type Names, readNames } from './members.ts';
import { amountOf, copyable, factsOf, idText, type Operator } from './section.ts';

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

const REASONS = ['already_running', 'target_gone'] as const;

const reasonOf = ({ t }: Operator, { reason }: Refund): string => {
  const key = REASONS.find((name) => name === reason);
  return key === undefined ? reason : t(message(`ops.refund.${key}`));
};

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

/** Current prices of the catalogue, in Tooman. */
export type Prices = Partial<Record<Product, number>>;

/** Reads the prices. Empty for any status but 200, because a refund can be decided without the price. */
export const readPrices = async (operator: Operator): Promise<Prices> => {
  const { status, body } = await operator.api({ method: 'GET', path: '/payments/prices' });
  if (status !== 200) return {};
  const { premium, boosts } = body.data as {
    premium: { plus: number };
    boosts: { basic: number; pro: number };
  };
  return { premium_plus: premium.plus, boost_basic: boosts.basic, boost_pro: boosts.pro };
};

export const refundFacts = (operator: Operator, refund: Refund, buyers: Names, prices: Prices): Html => {
  const product = productOf(refund.product_id);
  const price = product === undefined ? undefined : prices[product];
  const { user_id: userId, boostable_type: type, boostable_id: target } = refund;
  const { t } = operator;
  return factsOf(t, [
    ['ops.user', memberLink(operator, buyers.get(userId), userId)],
    ['ops.product', productName(operator, refund.product_id)],
    ['ops.product.price', price === undefined ? null : amountOf(t, price)],
    ['ops.product.id', refund.product_id],
    ['ops.store', refund.channel],
    [
      'ops.refund.target',
      type === null || target === null ? null : html`<bdi dir="ltr">${type} ${idText(t, target)}</bdi>`,
    ],
    ['ops.refund.token', copyable(t, refund.purchase_token)],
    ['ops.reason', reasonOf(operator, refund)],
    ['ops.created', time(operator, refund.created_at)],
  ]);
};
