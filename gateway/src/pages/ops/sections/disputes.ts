/** Deposits for which the bank took something else than requested, and store purchases that cannot be granted. */
import { message } from '@fitness/shared/kernel/error.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { time } from '../../views.ts';
import {
  actionForm,
  amountOf,
  factsOf,
  idIn,
  listOf,
  type Operator,
  outcomeOf,
  pageIn,
  read,
  type Section,
  turnByLink,
  userName,
} from '../section.ts';

const SLUG = 'disputes';
const DEPOSITS = '/payments/deposit/disputed';
const REFUNDS = '/payments/store-purchases/refund-queue';
const NOTE = { name: 'note', label: message('ops.note') };

interface Deposit {
  payment: { id: number; user: unknown; amount: number; created_at: string };
  track_id: string;
  reported: { charged_rial: number | null; ref_number: string | null; card_number: string | null };
}

interface Refund {
  id: number;
  channel: string;
  product_id: string;
  user_id: number;
  reason: string;
  created_at: string;
}

const RIAL_PER_TOOMAN = 10;

const depositItem = (operator: Operator, { payment, track_id: trackId, reported }: Deposit): Html => {
  const { t } = operator;
  const { charged_rial: rial } = reported;
  const id = String(payment.id);
  return html`<li><h3>${t(message('ops.payment', { id }))}</h3>
${factsOf(t, [
  ['ops.user', userName(payment.user)],
  ['ops.amount', amountOf(t, payment.amount)],
  ['ops.charged', rial === null ? null : amountOf(t, rial / RIAL_PER_TOOMAN)],
  ['ops.track_id', html`<span class="code" dir="ltr">${trackId}</span>`],
  ['ops.ref_number', reported.ref_number],
  ['ops.card_number', reported.card_number],
  ['ops.created', time(payment.created_at)],
])}
${actionForm(operator, SLUG, {
  hidden: { payment_id: id },
  text: NOTE,
  buttons: [
    ['credited', message('ops.credit', { id })],
    ['returned', message('ops.return', { id })],
  ],
})}</li>\n`;
};

const refundItem = (operator: Operator, refund: Refund): Html => {
  const { t } = operator;
  const id = String(refund.id);
  return html`<li><h3>${t(message('ops.refund', { id }))}</h3>
${factsOf(t, [
  ['ops.user', `#${refund.user_id}`],
  ['ops.product', `${refund.product_id} (${refund.channel})`],
  ['ops.reason', refund.reason],
  ['ops.created', time(refund.created_at)],
])}
${actionForm(operator, SLUG, {
  hidden: { refund_id: id },
  text: NOTE,
  buttons: [
    ['refunded', message('ops.refunded', { id })],
    ['granted', message('ops.granted', { id })],
  ],
})}</li>\n`;
};

type Body = Record<string, unknown>;

const pagesIn = ({ query }: Operator): Record<'deposits' | 'refunds', string> => ({
  deposits: pageIn(query, 'deposits'),
  refunds: pageIn(query, 'refunds'),
});

const readBoth = async (operator: Operator): Promise<{ deposits: Body; refunds: Body }> => {
  const pages = pagesIn(operator);
  const [deposits, refunds] = await Promise.all([
    read(operator, `${DEPOSITS}?page=${pages.deposits}`),
    read(operator, `${REFUNDS}?page=${pages.refunds}`),
  ]);
  return { deposits, refunds };
};

const resolveDeposit =
  (outcome: string): NonNullable<Section['actions']>[string] =>
  async (operator, { payment_id: id, note = '' }) => {
    const path = `/payments/${idIn(id) ?? 0}/resolve`;
    return outcomeOf(await operator.api({ method: 'POST', path, body: { outcome, note } }), 'resolved');
  };

const resolveRefund =
  (outcome: string): NonNullable<Section['actions']>[string] =>
  async (operator, { refund_id: id, note = '' }) => {
    const path = `/payments/store-purchases/refund-queue/${idIn(id) ?? 0}/resolve`;
    return outcomeOf(await operator.api({ method: 'POST', path, body: { outcome, note } }), 'resolved');
  };

export const disputes: Section = {
  slug: SLUG,
  title: 'ops.disputes',
  permissions: [['payments.view_all', 'payments.resolve_disputes']],
  show: async (operator) => {
    const { t } = operator;
    const { deposits, refunds } = await readBoth(operator);
    const cardOf = (name: 'deposits' | 'refunds', body: Body, items: readonly Html[]): Html => {
      const label = `ops.disputes.${name}` as const;
      const turn = turnByLink(operator, SLUG, name, pagesIn(operator));
      return html`<section class="card"><h2>${t(message(label))}</h2>
${listOf(operator, { body, items, none: 'ops.none', label, turn })}</section>\n`;
    };
    const depositItems = (deposits.data as Deposit[]).map((row) => depositItem(operator, row));
    const refundItems = (refunds.data as Refund[]).map((row) => refundItem(operator, row));
    return html`${cardOf('deposits', deposits, depositItems)}${cardOf('refunds', refunds, refundItems)}`;
  },
  watch: async (operator) => {
    const { deposits, refunds } = await readBoth(operator);
    const depositIds = (deposits.data as Deposit[]).map(({ payment }) => `d${payment.id}`);
    return [...depositIds, ...(refunds.data as Refund[]).map(({ id }) => `r${id}`)].join();
  },
  // The same outcome again changes nothing, and another one is refused.
  actions: {
    credited: resolveDeposit('credited'),
    returned: resolveDeposit('returned'),
    refunded: resolveRefund('refunded'),
    granted: resolveRefund('granted'),
  },
};
