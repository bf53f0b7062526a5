/** Deposits for which the bank charged an unexpected amount, credits of erased accounts, and store purchases that cannot be granted. */
import { message } from '@fitness/shared/kernel/error.ts';
import { withUnbrokenAmounts } from '@fitness/shared/pages/html.ts';
import { call } from '../call.ts';
import { type Content, cell, type Fact, facts, part, table, view } from '../content.ts';
import { type Decision, decision, decisionsAbout } from '../decision.ts';
import { type List, list, type RowOf, showLists } from '../list.ts';
import { idIn, type Operator } from '../operator.ts';
import { balances, readPayment } from '../payment.ts';
import { productName, type Refund, readRefundDetails, refundFacts } from '../refund.ts';
import { gone, outcomeOf, type Section } from '../section.ts';
import { settledRefusal } from '../settled-once.ts';
import { LATE_AFTER_MS } from '../waiting.ts';

export const disputedDeposits = call('GET /payments/deposit/disputed', ['payments.view_all']);
export const refundQueue = call('GET /payments/store-purchases/refund-queue', ['payments.view_all']);
export const resolve = call(
  'POST /payments/{id}/resolve',
  ['payments.resolve_disputes'],
  ['outcome', 'note'],
);
const resolveRefund = call(
  'POST /payments/store-purchases/refund-queue/{id}/resolve',
  ['payments.resolve_disputes'],
  ['outcome', 'note'],
);

const NOTE = { name: 'note', label: message('ops.note'), missing: message('enter.note'), isLong: true };
const CLOSED = message('ops.refund.closed');
const BACK = { label: message('ops.disputes.all') };

/** The report of the bank gateway is set for an open dispute. */
type Dispute = RowOf<'GET /payments/deposit/disputed'>;
type Deposit = Pick<Dispute, 'payment'> & Partial<Dispute>;

const RIAL_PER_TOOMAN = 10;
/** The amount that the bank charged, in Tooman. */
const chargedIn = ({ reported }: Deposit): number | undefined =>
  reported?.charged_rial == null ? undefined : reported.charged_rial / RIAL_PER_TOOMAN;

/** The difference between the credited and the charged amount, in words. */
const differenceIn =
  (deposit: Deposit): Content =>
  ({ t }) => {
    const { amount: requested } = deposit.payment;
    const amount = requested - (chargedIn(deposit) ?? requested);
    if (amount === 0) return null;
    const text = message(amount > 0 ? 'ops.credit.more' : 'ops.credit.less', { amount: Math.abs(amount) });
    return view`<strong>${withUnbrokenAmounts(t(text))}</strong>`;
  };

const creditFacts = async (operator: Operator, deposit: Deposit): Promise<Fact[]> => {
  const { user_id, amount } = deposit.payment;
  const { balance } = await balances.read(operator, { query: { user_id } });
  return [
    ['ops.credit.difference', differenceIn(deposit)],
    ['ops.credit.balance', cell.amount(balance + amount)],
  ];
};

const depositFacts = (deposit: Deposit, more: readonly Fact[] = []): Content => {
  const { payment, track_id: trackId, reported } = deposit;
  const charged = chargedIn(deposit);
  return facts([
    ['ops.user', cell.member(payment.user, payment.user_id)],
    ['ops.amount.requested', cell.amount(payment.amount)],
    ['ops.charged', charged !== undefined && cell.amount(charged)],
    ...more,
    ['ops.track_id', trackId !== undefined && trackId !== '' && cell.code(trackId)],
    ['ops.ref_number', reported?.ref_number],
    ['ops.card_number', reported?.card_number],
    ['ops.created', cell.time(payment.created_at)],
  ]);
};

const settledText = (outcome: 'credited' | 'returned', { id, amount }: Deposit['payment']) =>
  message(`ops.done.${outcome}`, { id, amount });

type DepositOutcome = 'credited' | 'returned';
/** Undefined while the dispute is open. */
const resolvedAs = ({ meta }: Deposit['payment']): DepositOutcome | undefined =>
  meta?.resolution?.outcome as DepositOutcome | undefined;

const depositDecision = (outcome: DepositOutcome): Decision<Deposit> =>
  decision<Deposit>({
    name: outcome,
    done: outcome,
    fields: ({ payment: { id } }) => ({ payment_id: id }),
    of: ({ payment: { id } }) => ({ payment: id }),
    label: (deposit) => {
      const { amount } = deposit.payment;
      return outcome === 'credited'
        ? message('ops.credit', { amount })
        : message('ops.return', { amount: chargedIn(deposit) ?? amount });
    },
    rank: outcome === 'credited' ? 'danger' : 'secondary',
    // A resolved dispute is found too. The page reports it, so nobody returns the money twice.
    find: async (operator, { payment_id: id }) => {
      const open = await deposits.find(operator, idIn(id));
      if (open !== undefined) return open;
      const payment = await readPayment(operator, id);
      return payment?.meta?.resolution === undefined ? undefined : { payment };
    },
    confirmation: async (deposit, operator) => {
      const { payment, reported } = deposit;
      const { id, user_id: userId, amount } = payment;
      const settled = resolvedAs(payment);
      const isCredit = outcome === 'credited' && settled === undefined;
      return {
        title: message(`ops.${outcome}.title`, { id }),
        lead: message(`ops.${outcome}.lead`),
        facts: depositFacts(deposit, isCredit ? await creditFacts(operator, deposit) : []),
        state: [id, userId, amount, reported?.charged_rial],
        settled: settled && { text: settledText(settled, payment) },
        field: NOTE,
        back: BACK,
      };
    },
    perform: (operator, { payment: { id } }, { note = '' }) =>
      resolve.send(operator, { id, body: { outcome, note } }),
    refusal: (operator, answer, { note = '' }) => settledRefusal(operator, answer, note),
  });

const refundDecision = (outcome: 'refunded' | 'granted'): Decision<Refund> =>
  decision<Refund>({
    name: outcome,
    done: outcome,
    fields: ({ id }) => ({ refund_id: id }),
    of: ({ id }) => ({ refund: id }),
    // Without an amount: the store refunds what was paid, which may differ from the current price.
    label: (refund) => (operator) => message(`ops.${outcome}`, { product: productName(operator, refund) }),
    rank: outcome === 'granted' ? 'danger' : 'secondary',
    find: (operator, { refund_id: id }) => refunds.find(operator, idIn(id)),
    missing: CLOSED,
    // Whether this operator has closed it or another one, the API says, and records it.
    late: async (operator, { refund_id: text, note = '' }) => {
      const id = idIn(text);
      if (id === undefined || note === '') return gone(operator, CLOSED);
      const answer = await resolveRefund.send(operator, { id, body: { outcome, note } });
      const refusal = answer.status === 409 ? await settledRefusal(operator, answer, note) : undefined;
      if (refusal === undefined) return outcomeOf(answer, outcome, { refund: id });
      return { refused: { ...answer, body: { message: refusal } } };
    },
    confirmation: async (refund, operator) => {
      const { id, user_id: userId, product_id: productId, channel } = refund;
      return {
        title: message(`ops.${outcome}.title`, { id }),
        lead: message(`ops.${outcome}.lead`),
        facts: refundFacts(refund, await readRefundDetails(operator, [refund])),
        state: [id, userId, productId, channel],
        field: NOTE,
        back: BACK,
      };
    },
    perform: (operator, { id }, { note = '' }) =>
      resolveRefund.send(operator, { id, body: { outcome, note } }),
    refusal: (operator, answer, { note = '' }) => settledRefusal(operator, answer, note),
  });

const returned = depositDecision('returned');
const credited = depositDecision('credited');
const refunded = refundDecision('refunded');
const granted = refundDecision('granted');

const deposits: List<Dispute> = list({
  call: disputedDeposits,
  page: 'deposits',
  title: 'ops.disputes.deposits',
  none: 'ops.none',
  idOf: ({ payment }) => payment.id,
  items: (rows) =>
    rows.map(
      (
        row,
      ) => view`<h3>${message(row.payment.type === 'income' ? 'ops.income' : 'ops.deposit', { id: row.payment.id })}</h3>
${row.is_payer_erased && view`<p>${message('payments.payer_erased')}</p>`}
${depositFacts(row)}
${decisionsAbout<Deposit>(row, row.is_payer_erased ? [returned] : [returned, credited])}`,
    ),
  waiting: {
    label: 'ops.disputes.deposits',
    oldest: ({ payment }) => payment.created_at,
    isReversed: true,
    lateAfterMs: LATE_AFTER_MS.dispute,
  },
});

const refunds: List<Refund> = list({
  call: refundQueue,
  page: 'refunds',
  title: 'ops.disputes.refunds',
  none: 'ops.none',
  items: async (rows, operator) => {
    const details = await readRefundDetails(operator, rows);
    return rows.map(
      (row) => view`<h3>${message('ops.refund', { id: row.id })}</h3>
${refundFacts(row, details)}
${decisionsAbout(row, [refunded, granted])}`,
    );
  },
  waiting: {
    label: 'ops.disputes.refunds',
    oldest: ({ created_at: at }) => at,
    isReversed: true,
    lateAfterMs: LATE_AFTER_MS.refund,
  },
});

const LISTS = [deposits, refunds];

/** What is left in the balance of erased accounts. Nothing if there are none. */
const erasedBalances = async (operator: Operator): Promise<Content> => {
  const reading = disputedDeposits.read(operator, { query: { per_page: 1 } });
  const rowsIn = ({ erased_balances: rows = [] }: Awaited<typeof reading>) => rows;
  const isEmpty = await reading.then(
    (body) => rowsIn(body).length === 0,
    () => false,
  );
  if (isEmpty) return undefined;
  return part('ops.disputes.erased', async () =>
    table(
      [
        ['ops.user', ({ user_id: id }) => cell.member(undefined, id)],
        ['ops.amount', ({ balance }) => cell.amount(balance), 'number'],
      ],
      rowsIn(await reading),
    ),
  );
};

export const disputes: Section = {
  slug: 'disputes',
  title: 'ops.disputes',
  needs: [[disputedDeposits, resolve]],
  lists: LISTS,
  show: async (operator) => view`${await showLists(operator, LISTS)}${await erasedBalances(operator)}`,
  decisions: [credited, returned, refunded, granted],
  notice: async (operator, done) => {
    const { payment: paymentId, refund } = operator.query;
    if (done === 'credited' || done === 'returned') {
      const payment = await readPayment(operator, paymentId);
      return payment && resolvedAs(payment) === done ? settledText(done, payment) : undefined;
    }
    // A closed refund cannot be read. The notice has only its number, and appears only if the refund is not open.
    const id = idIn(refund);
    const isRefund = done === 'refunded' || done === 'granted';
    if (!isRefund || id === undefined || (await refunds.find(operator, id)) !== undefined) return undefined;
    return message(`ops.done.${done}`, { id: Number(id) });
  },
};
