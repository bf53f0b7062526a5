/** Payments of the demo data. Each step first reads the current state, so it can be repeated. */
import { randomUUID } from 'node:crypto';
import type { Schemas } from '@fitness/client';
import type { Account } from './account.ts';
import type { DemoApi } from './api.ts';

const MIN_DEPOSIT = 1_000;
const DEPOSIT_ATTEMPTS = 3;

export type Withdrawal = Schemas['Payment'];

export const isPending = ({ is_done: isDone, rejected_at: rejectedAt }: Withdrawal): boolean =>
  !isDone && rejectedAt === null;

export const balanceOf = async (api: DemoApi, { token }: Account): Promise<number> =>
  (await api.read<Schemas['Balance']>('GET', '/payments/balance', { token })).balance;

export const withdrawalsOf = async (api: DemoApi, { token }: Account): Promise<Withdrawal[]> =>
  (await api.read<Schemas['PaymentList']>('GET', '/payments?type=withdrawal', { token })).data;

/** Deposits until the balance is at least `amount` Tooman. */
export const depositUpTo = async (api: DemoApi, account: Account, amount: number): Promise<void> => {
  const { token } = account;
  for (let attempt = 0; attempt < DEPOSIT_ATTEMPTS; attempt += 1) {
    const missing = amount - (await balanceOf(api, account));
    if (missing <= 0) return;
    const body = { amount: Math.max(missing, MIN_DEPOSIT) };
    // The first key continues the deposit of an interrupted seed. If the bank has lost that deposit, a new key makes another.
    const key = attempt === 0 ? `demo-deposit-${body.amount}` : `demo-deposit-${randomUUID()}`;
    const options = { token, body, key };
    const deposit = await api.read<Schemas['RequestedDeposit']>('POST', '/payments/deposit', options);
    await api.pay(new URL(deposit.payment_url).pathname.split('/').at(-1) ?? '');
  }
  const balance = await balanceOf(api, account);
  if (balance < amount) throw new Error(`a wallet has ${balance} of ${amount} Tooman after its deposits`);
};

export const withdraw = async (api: DemoApi, { token }: Account, amount: number): Promise<Withdrawal> => {
  const options = { token, body: { amount }, key: `demo-withdrawal-${amount}` };
  return (await api.read<Schemas['PaymentResponse']>('POST', '/payments/withdrawals', options)).payment;
};

/** False when this account lacks the permission. */
export const settleWithdrawal = async (
  api: DemoApi,
  { token }: Account,
  { id }: Withdrawal,
): Promise<boolean> => {
  const { status } = await api.send('POST', `/payments/${id}/pay`, { token });
  if (status === 403) return false;
  // 409: settled already.
  if (status !== 200 && status !== 409) throw new Error(`settling a withdrawal answered ${status}`);
  return true;
};
