/** Deposits for which the bank charged an unexpected amount, and store purchases that cannot be granted. */
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import type { Fields } from '@fitness/shared/pages/form-pages.ts';
import { type Html, html, withUnbrokenAmounts } from '@fitness/shared/pages/html.ts';
import { time } from '@fitness/shared/pages/views.ts';
import { type Confirmation, decisionOf } from '../decision.ts';
import { memberLink, type Names } from '../members.ts';
import {
  type Prices,
  productName,
  type Refund,
  readBuyers,
  readPrices,
  refundFacts,
} from '../refund-facts.ts';
import {
  actionForm,
  amountOf,
  countOf,
  type FactRow,
  factsOf,
  findInList,
  idIn,
  listOf,
  type Operator,
  outcomeOf,
  pageIn,
  partOf,
  read,
  readPayment,
  type Section,
  turnByLink,
} from '../section.ts';
import { LATE_AFTER_MS } from '../waiting.ts';

const SLUG = 'disputes';
const DEPOSITS = '/payments/deposit/disputed';
const REFUNDS = '/payments/store-purchases/refund-queue';
const NOTE = { name: 'note', label: message('ops.note'), missing: message('enter.note'), isLong: true };

interface Deposit {
  payment: {
    id: number;
    type: string;
    user_id: number;
    user: unknown;
    amount: number;
    meta: { resolution?: { outcome: 'credited' | 'returned' } } | null;
    created_at: string;
  };
  /** Set for an open dispute, as reported by the bank gateway. */
  track_id?: string;
  reported?: { charged_rial: number | null; ref_number: string | null; card_number: string | null };
}

const RIAL_PER_TOOMAN = 10;

const tooman = (rial: number): number => rial / RIAL_PER_TOOMAN;

/** The difference between the credited and the charged amount, in words. */
const differenceIn = ({ t }: Operator, { payment, reported }: Deposit): Html | null => {
  const amount = reported?.charged_rial == null ? 0 : payment.amount - tooman(reported.charged_rial);
  if (amount === 0) return null;
  const text = message(amount > 0 ? 'ops.credit.more' : 'ops.credit.less', { amount: Math.abs(amount) });
  return html`<strong>${withUnbrokenAmounts(t(text))}</strong>`;
};

const creditFacts = async (operator: Operator, deposit: Deposit): Promise<FactRow[]> => {
  const { user_id: userId, amount } = deposit.payment;
  const { balance } = await read(operator, `/payments/balance?user_id=${userId}`);
  return [
    ['ops.credit.difference', differenceIn(operator, deposit)],
    ['ops.credit.balance', amountOf(operator.t, Number(balance) + amount)],
  ];
};

const depositFacts = (operator: Operator, deposit: Deposit, more: readonly FactRow[] = []): Html => {
  const { t } = operator;
  const { payment, track_id: trackId, reported } = deposit;
  return factsOf(t, [
    ['ops.user', memberLink(operator, payment.user, payment.user_id)],
    ['ops.amount.requested', amountOf(t, payment.amount)],
    ['ops.charged', reported?.charged_rial == null ? null : amountOf(t, tooman(reported.charged_rial))],
    ...more,
    ['ops.track_id', trackId === undefined ? null : html`<span class="code" dir="ltr">${trackId}</span>`],
    ['ops.ref_number', reported?.ref_number],
    ['ops.card_number', reported?.card_number],
    ['ops.created', time(operator, payment.created_at)],
  ]);
};

const returnedAmount = ({ payment, reported }: Deposit): number =>
  reported?.charged_rial == null ? payment.amount : tooman(reported.charged_rial);

const creditLabel = ({ payment }: Deposit): Message => message('ops.credit', { amount: payment.amount });
const returnLabel = (deposit: Deposit): Message => message('ops.return', { amount: returnedAmount(deposit) });

const depositItem = (operator: Operator, deposit: Deposit): Html => {
  const { id } = deposit.payment;
  return html`<li><h3>${operator.t(message('ops.deposit', { id }))}</h3>
${depositFacts(operator, deposit)}
${actionForm(operator, SLUG, {
  hidden: { payment_id: id },
  buttons: [
    ['returned', returnLabel(deposit), 'secondary'],
    ['credited', creditLabel(deposit), 'danger'],
  ],
})}</li>\n`;
};

/** Without an amount: the store refunds what was paid, which may differ from the current price. */
const refundedLabel = (operator: Operator, { product_id: id }: Refund): Message =>
  message('ops.refunded', { product: productName(operator, id) });

const grantedLabel = (operator: Operator, { product_id: id }: Refund): Message =>
  message('ops.granted', { product: productName(operator, id) });

const refundItem = (operator: Operator, refund: Refund, buyers: Names, prices: Prices): Html => {
  const { id } = refund;
  return html`<li><h3>${operator.t(message('ops.refund', { id }))}</h3>
${refundFacts(operator, refund, buyers, prices)}
${actionForm(operator, SLUG, {
  hidden: { refund_id: id },
  buttons: [
    ['refunded', refundedLabel(operator, refund), 'secondary'],
    ['granted', grantedLabel(operator, refund), 'danger'],
  ],
})}</li>\n`;
};

type Body = Record<string, unknown>;

const pagesIn = ({ query }: Operator): Record<'deposits' | 'refunds', string> => ({
  deposits: pageIn(query, 'deposits'),
  refunds: pageIn(query, 'refunds'),
});

const readDeposits = (operator: Operator): Promise<Body> =>
  read(operator, `${DEPOSITS}?page=${pagesIn(operator).deposits}`);

const readRefunds = (operator: Operator): Promise<Body> =>
  read(operator, `${REFUNDS}?page=${pagesIn(operator).refunds}`);

/** One list of the page, with its own pagination. */
const cardOf = (
  operator: Operator,
  name: 'deposits' | 'refunds',
  readList: () => Promise<{ body: Body; items: readonly Html[] }>,
): Promise<Html | false> => {
  const label = `ops.disputes.${name}` as const;
  return partOf(operator, label, async () => {
    const turn = turnByLink(operator, SLUG, name, pagesIn(operator));
    return listOf(operator, { ...(await readList()), none: 'ops.none', label, turn });
  });
};

const depositsCard = (operator: Operator): Promise<Html | false> =>
  cardOf(operator, 'deposits', async () => {
    const body = await readDeposits(operator);
    return { body, items: (body.data as Deposit[]).map((row) => depositItem(operator, row)) };
  });

const refundsCard = (operator: Operator): Promise<Html | false> =>
  cardOf(operator, 'refunds', async () => {
    const body = await readRefunds(operator);
    const rows = body.data as Refund[];
    const [buyers, prices] = await Promise.all([
      readBuyers(operator, rows),
      rows.length === 0 ? undefined : readPrices(operator),
    ]);
    return { body, items: rows.map((row) => refundItem(operator, row, buyers, prices)) };
  });

/** Finds open and resolved disputes. The page reports a resolved one, so nobody returns the money twice. */
const findDeposit = async (operator: Operator, { payment_id: id }: Fields): Promise<Deposit | undefined> => {
  const [open] = await findInList<Deposit>(operator, DEPOSITS, id);
  if (open !== undefined && String(open.payment.id) === id) return open;
  const payment = await readPayment<Deposit['payment']>(operator, id);
  return payment?.meta?.resolution === undefined ? undefined : { payment };
};

const settledAs = (
  { payment: { id, amount, meta } }: Deposit,
  decision: 'credited' | 'returned',
): Confirmation['settled'] => {
  const outcome = meta?.resolution?.outcome;
  if (outcome === undefined) return undefined;
  const text = message(`ops.done.${outcome}`, { id, amount });
  return outcome === decision ? { text, result: { done: outcome, query: `&payment=${id}` } } : { text };
};

const depositDecision = (outcome: 'credited' | 'returned'): NonNullable<Section['actions']> =>
  decisionOf<Deposit>(outcome, {
    slug: SLUG,
    find: findDeposit,
    confirmation: async (operator, deposit) => {
      const { id, user_id: userId, amount } = deposit.payment;
      const settled = settledAs(deposit, outcome);
      const more =
        outcome === 'credited' && settled === undefined ? await creditFacts(operator, deposit) : [];
      return {
        title: message(`ops.${outcome}.title`, { id }),
        lead: message(`ops.${outcome}.lead`),
        facts: depositFacts(operator, deposit, more),
        repeated: ['payment_id'],
        state: [id, userId, amount, deposit.reported?.charged_rial],
        settled,
        field: NOTE,
        button:
          outcome === 'credited'
            ? { label: creditLabel(deposit), isDestructive: true }
            : { label: returnLabel(deposit) },
        back: { label: message('ops.disputes.all') },
      };
    },
    perform: async (operator, { payment: { id } }, { note = '' }) => {
      const path = `/payments/${id}/resolve`;
      const answer = await operator.api({ method: 'POST', path, body: { outcome, note } });
      return outcomeOf(answer, outcome, `&payment=${id}`);
    },
  });

const findRefund = async (operator: Operator, { refund_id: id }: Fields): Promise<Refund | undefined> => {
  const [open] = await findInList<Refund>(operator, REFUNDS, id);
  return String(open?.id) === id ? open : undefined;
};

const refundDecision = (outcome: 'refunded' | 'granted'): NonNullable<Section['actions']> =>
  decisionOf<Refund>(outcome, {
    slug: SLUG,
    find: findRefund,
    missing: message('ops.refund.closed'),
    confirmation: async (operator, refund) => {
      const { id, user_id: userId, product_id: productId, channel } = refund;
      const [buyers, prices] = await Promise.all([readBuyers(operator, [refund]), readPrices(operator)]);
      return {
        title: message(`ops.${outcome}.title`, { id }),
        lead: message(`ops.${outcome}.lead`),
        facts: refundFacts(operator, refund, buyers, prices),
        repeated: ['refund_id'],
        state: [id, userId, productId, channel],
        field: NOTE,
        button:
          outcome === 'granted'
            ? { label: grantedLabel(operator, refund), isDestructive: true }
            : { label: refundedLabel(operator, refund) },
        back: { label: message('ops.disputes.all') },
      };
    },
    perform: async (operator, { id }, { note = '' }) => {
      const path = `/payments/store-purchases/refund-queue/${id}/resolve`;
      const answer = await operator.api({ method: 'POST', path, body: { outcome, note } });
      return outcomeOf(answer, outcome, `&refund=${id}`);
    },
  });

const resolvedDeposit = async (operator: Operator, done: 'credited' | 'returned') => {
  const payment = await readPayment<Deposit['payment']>(operator, operator.query.payment);
  if (payment?.meta?.resolution?.outcome !== done) return undefined;
  return message(`ops.done.${done}`, { id: payment.id, amount: payment.amount });
};

export const disputes: Section = {
  slug: SLUG,
  title: 'ops.disputes',
  permissions: [['payments.view_all', 'payments.resolve_disputes']],
  show: async (operator) => html`${await Promise.all([depositsCard(operator), refundsCard(operator)])}`,
  watch: async (operator) => {
    const [deposits, refunds] = await Promise.all([readDeposits(operator), readRefunds(operator)]);
    const depositIds = (deposits.data as Deposit[]).map(({ payment }) => `d${payment.id}`);
    return [...depositIds, ...(refunds.data as Refund[]).map(({ id }) => `r${id}`)].join();
  },
  waiting: async (operator) => {
    const [deposits, refunds] = await Promise.all([
      // Both lists have the newest item first, so the oldest is the last row.
      countOf<Deposit>(operator, DEPOSITS, { isLast: true }),
      countOf<Refund>(operator, REFUNDS, { isLast: true }),
    ]);
    return [
      {
        label: 'ops.disputes.deposits',
        count: deposits.count,
        oldest: deposits.row?.payment.created_at,
        lateAfterMs: LATE_AFTER_MS.dispute,
      },
      {
        label: 'ops.disputes.refunds',
        count: refunds.count,
        oldest: refunds.row?.created_at,
        lateAfterMs: LATE_AFTER_MS.refund,
      },
    ];
  },
  actions: {
    ...depositDecision('credited'),
    ...depositDecision('returned'),
    ...refundDecision('refunded'),
    ...refundDecision('granted'),
  },
  notice: async (operator, done) => {
    if (done === 'credited' || done === 'returned') return resolvedDeposit(operator, done);
    // A closed refund cannot be read. The notice has only its number, and appears only if the refund is not open.
    const id = idIn(operator.query.refund);
    const isRefund = done === 'refunded' || done === 'granted';
    if (!isRefund || id === undefined || (await findRefund(operator, { refund_id: id }))) return undefined;
    return message(`ops.done.${done}`, { id: Number(id) });
  },
};
