/** A withdrawal is asked for: its amount is held out of the balance at once (specification 3.3). */
import type { UserCaller } from '@fitness/shared/caller.ts';
import { type AppError, forbidden, invalid, type Message, message } from '@fitness/shared/error.ts';
import { created, type RouteReply } from '@fitness/shared/http/define-route.ts';
import type { UserResource } from '@fitness/shared/resources/user.ts';
import { isInsufficientBalance } from '../domain/balance.ts';
import { holdRows } from '../domain/booking.ts';
import { createEntry } from '../domain/ledger.ts';
import { newPayment } from '../domain/payment.ts';
import { announceBooked } from './announce.ts';
import type { WalletDeps } from './deps.ts';
import { toResource } from './payment-resource.ts';

interface RequestWithdrawalInput {
  caller: UserCaller;
  amount: number;
  description: string;
  idempotencyKey: string | undefined;
  /** What the key stands for. */
  fingerprint: unknown;
}

/**
 * 201 `{payment}`; throws 422 under `amount` (more than the balance) and `bank_account_number` (there is none), 403 for an
 * account that was erased meanwhile.
 */
export type RequestWithdrawal = (input: RequestWithdrawalInput) => Promise<RouteReply>;

export const createRequestWithdrawal =
  (deps: Pick<WalletDeps, 'store' | 'outbox' | 'clock' | 'users' | 'idempotency'>): RequestWithdrawal =>
  (input) => {
    const { userId } = input.caller;
    const { idempotencyKey: key, fingerprint } = input;
    return deps.idempotency.run({ userId, key, fingerprint }, async (run) => {
      const user = (await deps.users.show([userId], input.caller)).get(userId);
      const balance = (await deps.store.wallets.balances([userId])).get(userId) ?? 0;
      assertPossible(input.amount, balance, user);
      return hold(deps, input, user, run);
    });
  };

const TOO_MUCH: Message = message('payments.insufficient_balance');

/** Names everything that is wrong at once; the hold itself decides about the balance once more. */
const assertPossible = (amount: number, balance: number, user: UserResource | undefined): void => {
  const account = user?.bank_account_number?.trim() ?? '';
  const wrong = {
    ...(amount > balance ? { amount: TOO_MUCH } : {}),
    ...(account === '' ? { bank_account_number: message('payments.bank_account_missing') } : {}),
  };
  if (Object.keys(wrong).length > 0) throw invalid(wrong);
};

const hold = async (
  deps: Pick<WalletDeps, 'store' | 'outbox' | 'clock'>,
  { caller, amount, description }: RequestWithdrawalInput,
  user: UserResource | undefined,
  run: Parameters<Parameters<WalletDeps['idempotency']['run']>[1]>[0],
): Promise<RouteReply> => {
  const { store, clock } = deps;
  const { userId } = caller;
  const id = await store.payments.nextId();
  const createdAt = clock.now();
  const payment = newPayment({
    id,
    userId,
    type: 'withdrawal',
    amount,
    description,
    isDone: false,
    createdAt,
  });
  const entry = createEntry({
    key: `withdrawal:${id}`,
    kind: 'withdrawal',
    rows: holdRows(userId, amount),
    paymentIds: [id],
  });
  try {
    return await store.transaction(async (session) => {
      if (!(await store.wallets.pin(session, userId))) throw forbidden('the account is erased');
      await store.post(session, entry, [payment]);
      await announceBooked(deps, session, payment);
      const reply = created({
        payment: toResource(payment, caller, user, (await store.wallets.find(session, userId))?.balance),
      });
      await run.complete(session, reply);
      return reply;
    });
  } catch (error) {
    throw isInsufficientBalance(error) ? tooMuch() : error;
  }
};

const tooMuch = (): AppError => invalid({ amount: TOO_MUCH });
