/**
 * Records a withdrawal, and deducts and holds its amount at once (specification 3.3). It is paid to the bank account in the
 * profile at this moment, even if the profile changes later.
 */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { forbidden, invalid, message } from '@fitness/shared/kernel/error.ts';
import type { Complete } from '@fitness/shared/mongo/idempotency.ts';
import type { Dependencies } from '../dependencies.ts';
import { isInsufficientBalance } from '../domain/balance.ts';
import { holdRows } from '../domain/booking.ts';
import { createEntry } from '../domain/ledger.ts';
import { newPayment } from '../domain/payment.ts';
import { type PaymentResource, toPaymentResource } from './payment-resource.ts';
import { publishPaymentBooked } from './publish.ts';

interface RequestWithdrawalInput {
  caller: UserCaller;
  /** In Tooman. */
  amount: number;
  description: string;
}

/**
 * Throws 422 under `amount` (more than the balance) and `bank_account_number` (missing). Throws 403 for an account that was
 * erased meanwhile.
 */
export type RequestWithdrawal = (
  input: RequestWithdrawalInput,
  complete: Complete<PaymentResource>,
) => Promise<PaymentResource>;

export const createRequestWithdrawal =
  ({ store, outbox, clock, users }: Dependencies): RequestWithdrawal =>
  async ({ caller, amount, description }, complete) => {
    const { userId } = caller;
    const user = (await users.find([userId], caller)).get(userId);
    const bankAccount = user?.bank_account_number?.trim() ?? '';
    assertPossible(amount, await store.wallets.balance(userId), bankAccount);
    const id = await store.payments.nextId();
    const payment = newPayment({
      id,
      userId,
      type: 'withdrawal',
      amount,
      description,
      meta: { bank_account_number: bankAccount },
      isDone: false,
      createdAt: clock.now(),
    });
    const entry = createEntry({
      key: `withdrawal:${id}`,
      kind: 'withdrawal',
      rows: holdRows(userId, amount),
      paymentIds: [id],
    });
    try {
      return await store.transaction(async (session) => {
        if (!(await store.wallets.lockUnlessErased(session, userId)))
          throw forbidden('the account is erased');
        await store.post(session, entry, [payment]);
        await publishPaymentBooked({ outbox }, session, payment);
        const balance = (await store.wallets.find(session, userId))?.balance;
        const result = toPaymentResource(payment, caller, user, balance);
        await complete(session, result);
        return result;
      });
    } catch (error) {
      throw isInsufficientBalance(error) ? invalid({ amount: INSUFFICIENT }) : error;
    }
  };

const INSUFFICIENT = message('payments.insufficient_balance');

/** Reports every problem at once. The transaction checks the balance again. */
const assertPossible = (amount: number, balance: number, bankAccount: string): void => {
  const problems = {
    ...(amount > balance ? { amount: INSUFFICIENT } : {}),
    ...(bankAccount === '' ? { bank_account_number: message('payments.bank_account_missing') } : {}),
  };
  if (Object.keys(problems).length > 0) throw invalid(problems);
};
