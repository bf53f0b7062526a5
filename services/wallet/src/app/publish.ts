/** Events of the wallet. Each is stored in the transaction that it reports. */
import {
  depositReturned,
  ledgerSealed,
  paymentBooked,
  withdrawalSettled,
} from '@fitness/proto/events/wallet.ts';
import type { Seal } from '@fitness/shared/kernel/seal.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Payment, withdrawalMetaOf } from '../domain/payment.ts';

const eventData = ({ id, userId, type, amount }: Payment) => ({
  payment_id: id,
  user_id: userId,
  type,
  amount,
});

/** Publishes a credited deposit, a requested withdrawal or a store purchase. Other payments are published with their seal. */
export const publishPaymentBooked = (
  { outbox }: Pick<Dependencies, 'outbox'>,
  session: ClientSession,
  payment: Payment,
): Promise<void> =>
  outbox.publish(session, paymentBooked, {
    subject: payment.id,
    aggregateVersion: payment.version,
    data: eventData(payment),
  });

export const publishDepositReturned = (
  { outbox }: Pick<Dependencies, 'outbox'>,
  session: ClientSession,
  { id, userId, amount, version }: Payment,
): Promise<void> =>
  outbox.publish(session, depositReturned, {
    subject: id,
    aggregateVersion: version,
    data: { payment_id: id, user_id: userId, amount },
  });

export const publishWithdrawalSettled = (
  { outbox }: Pick<Dependencies, 'outbox'>,
  session: ClientSession,
  payment: Payment,
): Promise<void> =>
  outbox.publish(session, withdrawalSettled, {
    subject: payment.id,
    aggregateVersion: payment.version,
    data: {
      payment_id: payment.id,
      user_id: payment.userId,
      amount: payment.amount,
      outcome: payment.isDone ? 'paid' : 'rejected',
      reason: withdrawalMetaOf(payment)?.reason ?? null,
    },
  });

/** `payments` are the payments in the seal that other services have booked. */
export const publishLedgerSealed = (
  { outbox }: Pick<Dependencies, 'outbox'>,
  session: ClientSession,
  { number, hash, leaves }: Seal,
  payments: readonly Payment[],
): Promise<void> =>
  outbox.publish(session, ledgerSealed, {
    subject: 'ledger',
    aggregateVersion: number,
    data: { number, hash, entries: leaves.length, payments: payments.map(eventData) },
  });
