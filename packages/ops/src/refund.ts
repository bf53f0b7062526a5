/** Store purchases that cannot be granted, with the details that an operator needs to refund them in the store console. */
import type { Schemas } from '@fitness/client';
import { isAppError, message } from '@fitness/shared/kernel/error.ts';
import { call } from './call.ts';
import { type Content, cell, facts, view, wordOf } from './content.ts';
import { readNames } from './members.ts';
import type { Operator } from './operator.ts';

export type Refund = Schemas['StorePurchaseRefund'];

const catalogue = call('GET /payments/prices');

/** Current prices of the catalogue, in Tooman. Undefined if the wallet does not answer. */
type Prices = Readonly<Record<string, number>> | undefined;

/** Reads the prices. The page reports missing ones, because a refund can be decided without the price. */
const readPrices = async (operator: Operator): Promise<Prices> => {
  try {
    const { premium, boosts } = (await catalogue.read(operator, {})).data;
    return { premium_plus: premium.plus, boost_basic: boosts.basic, boost_pro: boosts.pro };
  } catch (error) {
    if (!isAppError(error) || error.kind !== 'unavailable') throw error;
    return undefined;
  }
};

/** What the facts about refunds need besides their rows. */
export const readRefundDetails = async (operator: Operator, refunds: readonly Refund[]) => {
  const ids = refunds.map(({ user_id: id }) => id);
  const [buyers, prices] = await Promise.all([
    readNames(operator, ids),
    refunds.length === 0 ? undefined : readPrices(operator),
  ]);
  return { buyers, prices };
};

/** The product name, or the id if the product is no longer in the catalogue. */
export const productName = ({ t }: Operator, { product_id: id }: Refund): string =>
  wordOf(t, 'ops.product', id) ?? id;

const priceOf = ({ product_id: id }: Refund, prices: Prices): Content => {
  if (prices === undefined) return view`${message('ops.product.price.unknown')}`;
  return Object.hasOwn(prices, id) && cell.amount(prices[id] ?? 0);
};

const targetOf = ({ boostable_type: type, boostable_id: id }: Refund): Content =>
  type != null &&
  id != null &&
  view`${cell.word('ops.subject', type)} <bdi dir="ltr">${message('language.id', { id })}</bdi>`;

export const refundFacts = (
  refund: Refund,
  { buyers, prices }: Awaited<ReturnType<typeof readRefundDetails>>,
): Content =>
  facts([
    ['ops.user', cell.member(buyers.get(refund.user_id), refund.user_id)],
    ['ops.product', cell.word('ops.product', refund.product_id)],
    ['ops.product.price', priceOf(refund, prices)],
    ['ops.product.id', refund.product_id],
    ['ops.store', cell.word('ops.store', refund.channel)],
    ['ops.refund.target', targetOf(refund)],
    ['ops.refund.token', cell.copyable(refund.purchase_token)],
    ['ops.reason', cell.word('ops.refund', refund.reason)],
    ['ops.created', cell.time(refund.created_at)],
  ]);
