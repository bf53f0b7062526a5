/** Withdrawals that are neither paid nor rejected. */
import { parseTimestamp } from '@fitness/shared/kernel/clock.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import type { Fields } from '@fitness/shared/pages/form-pages.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { timeOf } from '@fitness/shared/pages/time.ts';
import { time } from '@fitness/shared/pages/views.ts';
import { type Confirmation, decisionOf } from '../decision.ts';
import { memberLink } from '../members.ts';
import { type Described, descriptionOf } from '../payment-description.ts';
import {
  actionForm,
  amountOf,
  type Column,
  copyableInGroups,
  countOf,
  type FactRow,
  factsOf,
  listOf,
  type Operator,
  outcomeOf,
  pageIn,
  read,
  readPayment,
  type Section,
  tableOf,
  turnByLink,
} from '../section.ts';
import { isPast, LATE_AFTER_MS } from '../waiting.ts';

const SLUG = 'withdrawals';
/** Oldest first, because members wait for their money. */
const LIST = '/payments?type=withdrawal&is_done=false&rejected=false&order=ASC';

interface Withdrawal extends Described {
  id: number;
  type: string;
  user_id: number;
  user: unknown;
  amount: number;
  meta: (Described['meta'] & { bank_account_number?: string | null }) | null;
  is_done: boolean;
  rejected_at: string | null;
  user_balance?: number;
  created_at: string;
}

const accountOf = ({ t }: Operator, { meta }: Withdrawal): Html | null =>
  meta?.bank_account_number == null ? null : copyableInGroups(t, meta.bank_account_number);

/** When the withdrawal was requested, and when it must be decided. */
const timesOf = (operator: Operator, { created_at: createdAt }: Withdrawal): Html => {
  const { t } = operator;
  const isLate = isPast(operator, createdAt, LATE_AFTER_MS.withdrawal);
  return html`${time(operator, createdAt)}<br>
<span class="quiet">${t(message('ops.waiting.late_after'))}: ${deadlineOf(operator, createdAt)}</span>${isLate && html` <span class="badge bad">${t(message('ops.late'))}</span>`}`;
};

const deadlineOf = (operator: Operator, createdAt: string): Html =>
  timeOf(operator.locale, new Date(parseTimestamp(createdAt).getTime() + LATE_AFTER_MS.withdrawal));

const buttonsOf = (operator: Operator, { id, amount }: Withdrawal): Html =>
  actionForm(operator, SLUG, {
    hidden: { payment_id: id },
    buttons: [
      ['pay', message('ops.pay', { amount }), 'secondary'],
      ['reject', message('ops.reject', { amount }), 'danger'],
    ],
  });

const columnsOf = (operator: Operator): readonly Column<Withdrawal>[] => {
  const { t } = operator;
  return [
    { label: 'ops.withdrawal', value: ({ id }) => String(id) },
    { label: 'ops.user', value: ({ user }) => memberLink(operator, user) },
    { label: 'ops.amount', value: ({ amount }) => amountOf(t, amount), kind: 'number' },
    { label: 'ops.bank_account', value: (withdrawal) => accountOf(operator, withdrawal) },
    { label: 'ops.created', value: (withdrawal) => timesOf(operator, withdrawal) },
    { label: 'ops.decision', value: (withdrawal) => buttonsOf(operator, withdrawal) },
  ];
};

/** The facts about one withdrawal. The balance already excludes the amount, which a rejection returns. */
const factsOfOne = (operator: Operator, withdrawal: Withdrawal, decision: 'pay' | 'reject'): Html => {
  const { t } = operator;
  const { user, amount, user_balance: balance, created_at: createdAt } = withdrawal;
  const balanceAfter: FactRow =
    decision === 'pay'
      ? ['ops.balance', balance === undefined ? null : amountOf(t, balance)]
      : ['ops.reject.balance', balance === undefined ? null : amountOf(t, balance + amount)];
  return factsOf(t, [
    ['ops.user', memberLink(operator, user)],
    ['ops.amount', amountOf(t, amount)],
    ['ops.bank_account', accountOf(operator, withdrawal)],
    balanceAfter,
    ['ops.description', descriptionOf(withdrawal)],
    ['ops.created', time(operator, createdAt)],
    ['ops.waiting.late_after', deadlineOf(operator, createdAt)],
  ]);
};

/** Finds open and settled withdrawals. The page reports a settled one, so nobody transfers the money twice. */
const find = async (operator: Operator, { payment_id: id }: Fields): Promise<Withdrawal | undefined> => {
  const payment = await readPayment<Withdrawal>(operator, id);
  return payment?.type === 'withdrawal' ? payment : undefined;
};

const outcomeIn = ({ is_done: isDone, rejected_at: rejectedAt }: Withdrawal) => {
  if (isDone) return 'paid';
  return rejectedAt == null ? undefined : 'rejected';
};

const settledAs = (withdrawal: Withdrawal, decision: 'paid' | 'rejected'): Confirmation['settled'] => {
  const outcome = outcomeIn(withdrawal);
  if (outcome === undefined) return undefined;
  const { id, amount } = withdrawal;
  const text = message(`ops.done.${outcome}`, { id, amount });
  return outcome === decision ? { text, result: { done: outcome, query: `&payment=${id}` } } : { text };
};

const shownOf = (
  operator: Operator,
  withdrawal: Withdrawal,
  decision: 'pay' | 'reject',
): Pick<Confirmation, 'facts' | 'repeated' | 'state' | 'back'> => ({
  facts: factsOfOne(operator, withdrawal, decision),
  repeated: ['payment_id'],
  state: [withdrawal.id, withdrawal.user_id, withdrawal.amount, withdrawal.meta?.bank_account_number],
  back: { label: message('ops.withdrawals.all') },
});

const pay = decisionOf<Withdrawal>('pay', {
  slug: SLUG,
  find,
  confirmation: (operator, withdrawal) => ({
    ...shownOf(operator, withdrawal, 'pay'),
    settled: settledAs(withdrawal, 'paid'),
    title: message('ops.pay.title', { id: withdrawal.id }),
    lead: message('ops.pay.lead'),
    field: { name: 'reference', label: message('ops.pay.reference') },
    button: { label: message('ops.pay', { amount: withdrawal.amount }) },
  }),
  perform: async (operator, { id }, { reference = '' }) => {
    const answer = await operator.api({ method: 'POST', path: `/payments/${id}/pay`, body: { reference } });
    return outcomeOf(answer, 'paid', `&payment=${id}`);
  },
});

const reject = decisionOf<Withdrawal>('reject', {
  slug: SLUG,
  find,
  confirmation: (operator, withdrawal) => ({
    ...shownOf(operator, withdrawal, 'reject'),
    settled: settledAs(withdrawal, 'rejected'),
    title: message('ops.reject.title', { id: withdrawal.id }),
    lead: message('ops.reject.lead'),
    field: {
      name: 'reason',
      label: message('ops.reject.reason'),
      missing: message('enter.reason'),
      isLong: true,
    },
    button: { label: message('ops.reject', { amount: withdrawal.amount }), isDestructive: true },
  }),
  perform: async (operator, { id }, { reason = '' }) => {
    const answer = await operator.api({ method: 'POST', path: `/payments/${id}/reject`, body: { reason } });
    return outcomeOf(answer, 'rejected', `&payment=${id}`);
  },
});

export const withdrawals: Section = {
  slug: SLUG,
  title: 'ops.withdrawals',
  permissions: [['payments.view_all', 'payments.settle_withdrawals']],
  show: async (operator) => {
    const body = await read(operator, `${LIST}&page=${pageIn(operator.query)}`);
    const items = tableOf(operator.t, columnsOf(operator), body.data as Withdrawal[]);
    const turn = turnByLink(operator, SLUG);
    return html`<section class="card">
${listOf(operator, { body, items, none: 'ops.withdrawals.none', turn })}
</section>`;
  },
  watch: async (operator) => {
    const body = await read(operator, `${LIST}&page=${pageIn(operator.query)}`);
    return (body.data as Withdrawal[]).map(({ id }) => id).join();
  },
  waiting: async (operator) => {
    const { count, row } = await countOf<Withdrawal>(operator, LIST);
    const lateAfterMs = LATE_AFTER_MS.withdrawal;
    return [{ label: 'ops.withdrawals', count, oldest: row?.created_at, lateAfterMs }];
  },
  actions: { ...pay, ...reject },
  notice: async (operator, done) => {
    const payment = await find(operator, { payment_id: operator.query.payment });
    if (payment === undefined || outcomeIn(payment) !== done) return undefined;
    const { id, amount } = payment;
    return message(done === 'paid' ? 'ops.done.paid' : 'ops.done.rejected', { id, amount });
  },
};
