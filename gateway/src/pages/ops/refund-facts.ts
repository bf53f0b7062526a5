/** What an operator needs to know of a store purchase that cannot be granted, to refund it in the console of the store. */
import { message } from '@fitness/shared/kernel/error.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { time } from '../views.ts';
import { memberLink, type Names, readNames } from './members.ts';
import { copyable, factsOf, type Operator } from './section.ts';

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
  const known = REASONS.find((name) => name === reason);
  return known === undefined ? reason : t(message(`ops.refund.${known}`));
};

export const readBuyers = (operator: Operator, refunds: readonly Refund[]): Promise<Names> =>
  readNames(
    operator,
    refunds.map(({ user_id: id }) => id),
  );

export const refundFacts = (operator: Operator, refund: Refund, buyers: Names): Html => {
  const { user_id: userId, boostable_type: type, boostable_id: target } = refund;
  const { t } = operator;
  return factsOf(t, [
    ['ops.user', memberLink(operator, buyers.get(userId), userId)],
    ['ops.product', `${refund.product_id} (${refund.channel})`],
    [
      'ops.refund.target',
      type === null || target === null ? null : html`<bdi dir="ltr">${type} #${target}</bdi>`,
    ],
    ['ops.refund.token', copyable(t, refund.purchase_token)],
    ['ops.reason', reasonOf(operator, refund)],
    ['ops.created', time(operator, refund.created_at)],
  ]);
};
