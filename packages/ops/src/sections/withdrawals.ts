/** Withdrawals that are neither paid nor rejected. */
import { parseTimestamp } from '@fitness/shared/kernel/clock.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import type { Fields } from '@fitness/shared/pages/form-pages.ts';
import { timeOf } from '@fitness/shared/pages/time.ts';
import { call } from '../call.ts';
import { type Content, cell, facts, view } from '../content.ts';
import { type Confirmation, decision, decisionsAbout } from '../decision.ts';
import { list } from '../list.ts';
import type { Operator } from '../operator.ts';
import { descriptionOf, type Payment, payments, readPayment } from '../payment.ts';
import type { Section } from '../section.ts';
import { isPast, LATE_AFTER_MS } from '../waiting.ts';

const pay = call('POST /payments/{id}/pay', ['payments.settle_withdrawals'], ['reference']);
const reject = call('POST /payments/{id}/reject', ['payments.settle_withdrawals'], ['reason']);

const deadlineOf =
  ({ created_at: at }: Payment): Content =>
  ({ locale }) =>
    timeOf(locale, new Date(parseTimestamp(at).getTime() + LATE_AFTER_MS.withdrawal));

/** When the withdrawal was requested, and when it must be decided. */
const timesOf =
  (payment: Payment): Content =>
  (operator) =>
    view`${cell.time(payment.created_at)}<br>
<span class="quiet">${message('ops.waiting.late_after')}: ${deadlineOf(payment)}</span>${
      isPast(operator, payment.created_at, LATE_AFTER_MS.withdrawal) &&
      view` ${cell.badge('bad', message('ops.late'))}`
    }`;

/** Finds open and settled withdrawals. The page reports a settled one, so nobody transfers the money twice. */
const find = async (operator: Operator, { payment_id: id }: Fields): Promise<Payment | undefined> => {
  const payment = await readPayment(operator, id);
  return payment?.type === 'withdrawal' ? payment : undefined;
};

const outcomeOf = ({ is_done: isDone, rejected_at: rejectedAt }: Payment) => {
  if (isDone) return 'paid';
  return rejectedAt == null ? undefined : 'rejected';
};

const doneText = (outcome: 'paid' | 'rejected', { id, amount }: Payment) =>
  message(`ops.done.${outcome}`, { id, amount });

/** What both decisions show. The balance already excludes the amount, which a rejection returns. */
const shownOf = (
  payment: Payment,
  decided: 'paid' | 'rejected',
): Pick<Confirmation, 'facts' | 'state' | 'settled' | 'back'> => {
  const { id, user, user_id: userId, amount, meta, user_balance: balance } = payment;
  const account = meta?.bank_account_number;
  const outcome = outcomeOf(payment);
  return {
    facts: facts([
      ['ops.user', cell.member(user)],
      ['ops.amount', cell.amount(amount)],
      ['ops.bank_account', cell.account(account)],
      decided === 'paid'
        ? ['ops.balance', balance !== undefined && cell.amount(balance)]
        : ['ops.reject.balance', balance !== undefined && cell.amount(balance + amount)],
      ['ops.description', descriptionOf(payment)],
      ['ops.created', cell.time(payment.created_at)],
      ['ops.waiting.late_after', deadlineOf(payment)],
    ]),
    state: [id, userId, amount, account],
    settled: outcome && { text: doneText(outcome, payment), isSame: outcome === decided },
    back: { label: message('ops.withdrawals.all') },
  };
};

const decided = {
  find,
  fields: ({ id }: Payment) => ({ payment_id: id }),
  of: ({ id }: Payment) => ({ payment: id }),
};

const payment = decision<Payment>({
  ...decided,
  name: 'pay',
  done: 'paid',
  rank: 'secondary',
  label: ({ amount }) => message('ops.pay', { amount }),
  confirmation: (row) => ({
    ...shownOf(row, 'paid'),
    title: message('ops.pay.title', { id: row.id }),
    lead: message('ops.pay.lead'),
    field: { name: 'reference', label: message('ops.pay.reference') },
  }),
  perform: (operator, { id }, { reference = '' }) => pay.send(operator, { id, body: { reference } }),
});

const rejection = decision<Payment>({
  ...decided,
  name: 'reject',
  done: 'rejected',
  label: ({ amount }) => message('ops.reject', { amount }),
  rank: 'danger',
  confirmation: (row) => ({
    ...shownOf(row, 'rejected'),
    title: message('ops.reject.title', { id: row.id }),
    lead: message('ops.reject.lead'),
    field: {
      name: 'reason',
      label: message('ops.reject.reason'),
      missing: message('enter.reason'),
      isLong: true,
    },
  }),
  perform: (operator, { id }, { reason = '' }) => reject.send(operator, { id, body: { reason } }),
});

const open = list({
  call: payments,
  // Oldest first, because members wait for their money.
  input: { query: { type: 'withdrawal', is_done: false, rejected: false, order: 'ASC' } },
  none: 'ops.withdrawals.none',
  columns: [
    ['ops.withdrawal', ({ id }) => String(id)],
    ['ops.user', ({ user }) => cell.member(user)],
    ['ops.amount', ({ amount }) => cell.amount(amount), 'number'],
    ['ops.bank_account', ({ meta }) => cell.account(meta?.bank_account_number)],
    ['ops.created', timesOf],
    ['ops.decision', (row) => decisionsAbout(row, [payment, rejection])],
  ],
  waiting: {
    label: 'ops.withdrawals',
    oldest: ({ created_at: at }) => at,
    lateAfterMs: LATE_AFTER_MS.withdrawal,
  },
});

export const withdrawals: Section = {
  slug: 'withdrawals',
  title: 'ops.withdrawals',
  needs: [[payments, pay]],
  lists: [open],
  decisions: [payment, rejection],
  notice: async (operator, done) => {
    const row = await find(operator, { payment_id: operator.query.payment });
    const outcome = row && outcomeOf(row);
    return row && outcome === done ? doneText(outcome, row) : undefined;
  },
};
