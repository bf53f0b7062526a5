/** Withdrawals that nobody has paid or rejected. */
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

const SLUG = 'withdrawals';
/** The oldest first: people wait for their money. */
const LIST = '/payments?type=withdrawal&is_done=false&rejected=false&order=ASC';

interface Withdrawal {
  id: number;
  user: unknown;
  amount: number;
  description: string | null;
  meta: { bank_account_number?: string | null } | null;
  user_balance?: number;
  created_at: string;
}

const item = (operator: Operator, withdrawal: Withdrawal): Html => {
  const { t } = operator;
  const { user, amount, description, meta, user_balance: balance, created_at: createdAt } = withdrawal;
  const id = String(withdrawal.id);
  const account = meta?.bank_account_number;
  return html`<li><h2>${t(message('ops.payment', { id }))}</h2>
${factsOf(t, [
  ['ops.user', userName(user)],
  ['ops.amount', amountOf(t, amount)],
  ['ops.bank_account', account == null ? null : html`<span class="code" dir="ltr">${account}</span>`],
  ['ops.balance', balance === undefined ? null : amountOf(t, balance)],
  ['ops.description', description],
  ['ops.created', time(createdAt)],
])}
<div class="grid">
${actionForm(operator, SLUG, {
  hidden: { payment_id: id },
  text: { name: 'reference', label: message('ops.pay.reference') },
  buttons: [['pay', message('ops.pay', { id })]],
})}
${actionForm(operator, SLUG, {
  hidden: { payment_id: id },
  text: { name: 'reason', label: message('ops.reject.reason') },
  buttons: [['reject', message('ops.reject', { id })]],
})}
</div></li>\n`;
};

export const withdrawals: Section = {
  slug: SLUG,
  title: 'ops.withdrawals',
  permissions: [['payments.view_all', 'payments.settle_withdrawals']],
  show: async (operator) => {
    const body = await read(operator, `${LIST}&page=${pageIn(operator.query)}`);
    const items = (body.data as Withdrawal[]).map((row) => item(operator, row));
    const turn = turnByLink(operator, SLUG);
    return html`<section class="card">
${listOf(operator, { body, items, none: 'ops.withdrawals.none', turn })}
</section>`;
  },
  watch: async (operator) => {
    const body = await read(operator, `${LIST}&page=${pageIn(operator.query)}`);
    return (body.data as Withdrawal[]).map(({ id }) => id).join();
  },
  // The same outcome again changes nothing and is answered as the first time: a second click pays nothing.
  actions: {
    pay: async (operator, { payment_id: id, reference = '' }) => {
      const path = `/payments/${idIn(id) ?? 0}/pay`;
      return outcomeOf(await operator.api({ method: 'POST', path, body: { reference } }), 'paid');
    },
    reject: async (operator, { payment_id: id, reason = '' }) => {
      const path = `/payments/${idIn(id) ?? 0}/reject`;
      return outcomeOf(await operator.api({ method: 'POST', path, body: { reason } }), 'rejected');
    },
  },
};
