/** Withdrawals that are neither paid nor rejected. */
import { parseTimestamp } from '@fitness/shared/kernel/clock.ts';
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import type { MessageKey } from '@fitness/shared/kernel/i18n/catalogue.ts';
import type { Fields } from '@fitness/shared/pages/form-pages.ts';
import { timeOf } from '@fitness/shared/pages/time.ts';
import type { ApiAnswer } from '@fitness/shared/pages/visitor.ts';
import { call } from '../call.ts';
import { type Content, cell, facts, form, notice, type Text, view } from '../content.ts';
import { type Confirmation, decision, decisionsAbout } from '../decision.ts';
import { list } from '../list.ts';
import { idIn, type Operator } from '../operator.ts';
import { descriptionOf, type Payment, payments, readPayment } from '../payment.ts';
import type { Action, Section } from '../section.ts';
import { operatorName, settledRefusal } from '../settled-once.ts';
import { isPast, LATE_AFTER_MS } from '../waiting.ts';

const SETTLE = ['payments.settle_withdrawals'] as const;
const pay = call('POST /payments/{id}/pay', SETTLE, ['reference', 'take_over']);
const reject = call('POST /payments/{id}/reject', SETTLE, ['reason', 'take_over']);
const claim = call('POST /payments/{id}/claim', SETTLE, ['take_over']);
const release = call('DELETE /payments/{id}/claim', SETTLE);

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

/** The operator who is about to pay it, and until when. */
const claimOf = (
  { dependencies: { clock } }: Operator,
  { meta }: Payment,
): { by: number; until: string } | undefined => {
  const { claimed_by: by, claimed_until: until } = meta ?? {};
  if (by == null || until == null) return undefined;
  return parseTimestamp(until) > clock.now() ? { by, until } : undefined;
};

const isClaimedByOther = (operator: Operator, row: Payment): boolean => {
  const claimed = claimOf(operator, row);
  return claimed !== undefined && claimed.by !== operator.caller.userId;
};

/** Whether the operator or another one is about to pay it, and what the operator can do about it. */
const claimPart = async (operator: Operator, row: Payment): Promise<Content> => {
  const change = (name: string, label: MessageKey): Content =>
    form({ hidden: { payment_id: row.id }, buttons: [[name, message(label), 'secondary']] });
  const claimed = claimOf(operator, row);
  if (claimed === undefined) return change('claim', 'ops.claim');
  if (claimed.by !== operator.caller.userId) {
    const params = { name: await operatorName(operator, claimed.by), expires_at: claimed.until };
    return view`${notice(message('ops.claim.other', params), 'bad')}
${change('take_over', 'ops.claim.take')}`;
  }
  return view`${notice(message('ops.claim.own', { expires_at: claimed.until }))}
${change('release', 'ops.claim.release')}`;
};

/** The label of a button, which says that another operator is about to pay. */
const labelFor =
  (row: Payment, label: Message): Text =>
  (operator) =>
    isClaimedByOther(operator, row) ? message('ops.claim.take_over', { title: operator.t(label) }) : label;

/**
 * Whether the page has shown the claim that is taken over. Without it, the API refuses a decision and records the reference, because the
 * money may have been sent.
 */
const takesOver = ({ meta }: Payment, { claimed_by: shown }: Fields): boolean =>
  shown !== undefined && shown === String(meta?.claimed_by);

/** What both decisions show. The balance already excludes the amount, which a rejection returns. */
const shownOf = async (
  operator: Operator,
  payment: Payment,
  decided: 'paid' | 'rejected',
): Promise<Pick<Confirmation, 'facts' | 'hidden' | 'state' | 'settled' | 'more' | 'back'>> => {
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
    hidden: isClaimedByOther(operator, payment) ? { claimed_by: String(meta?.claimed_by) } : {},
    state: [id, userId, amount, account],
    settled: outcome && { text: doneText(outcome, payment) },
    more: outcome === undefined && (await claimPart(operator, payment)),
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
  label: (row) => labelFor(row, message('ops.pay', { amount: row.amount })),
  confirmation: async (row, operator) => ({
    ...(await shownOf(operator, row, 'paid')),
    title: message('ops.pay.title', { id: row.id }),
    lead: message('ops.pay.lead'),
    field: { name: 'reference', label: message('ops.pay.reference'), missing: message('ops.pay.enter') },
  }),
  perform: (operator, row, { reference = '', ...fields }) =>
    pay.send(operator, { id: row.id, body: { reference, take_over: takesOver(row, fields) } }),
  refusal: (operator, answer, { reference = '' }) => settledRefusal(operator, answer, reference),
});

const rejection = decision<Payment>({
  ...decided,
  name: 'reject',
  done: 'rejected',
  label: (row) => labelFor(row, message('ops.reject', { amount: row.amount })),
  rank: 'danger',
  confirmation: async (row, operator) => ({
    ...(await shownOf(operator, row, 'rejected')),
    title: message('ops.reject.title', { id: row.id }),
    lead: message('ops.reject.lead'),
    field: {
      name: 'reason',
      label: message('ops.reject.reason'),
      missing: message('enter.reason'),
      isLong: true,
    },
  }),
  perform: (operator, row, { reason = '', ...fields }) =>
    reject.send(operator, { id: row.id, body: { reason, take_over: takesOver(row, fields) } }),
  refusal: (operator, answer) => settledRefusal(operator, answer, ''),
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

/** Shows the decision again, which says who has claimed the withdrawal. */
const changeClaim =
  (change: (operator: Operator, id: string | number) => Promise<ApiAnswer>): Action =>
  async (operator, fields) => {
    const answer = await change(operator, idIn(fields.payment_id) ?? 0);
    const showPayment = payment.actions.pay as Action;
    return answer.status < 300 || answer.status === 409 ? showPayment(operator, fields) : { refused: answer };
  };

export const withdrawals: Section = {
  slug: 'withdrawals',
  title: 'ops.withdrawals',
  needs: [[payments, pay]],
  lists: [open],
  decisions: [payment, rejection],
  actions: {
    claim: changeClaim((operator, id) => claim.send(operator, { id, body: {} })),
    take_over: changeClaim((operator, id) => claim.send(operator, { id, body: { take_over: true } })),
    release: changeClaim((operator, id) => release.send(operator, { id })),
  },
  notice: async (operator, done) => {
    const row = await find(operator, { payment_id: operator.query.payment });
    const outcome = row && outcomeOf(row);
    return row && outcome === done ? doneText(outcome, row) : undefined;
  },
};
