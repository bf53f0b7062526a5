/** What the wallet tells others, in the transaction that makes it true. */

import { ledgerSealed, paymentBooked, withdrawalSettled } from '@fitness/proto/events/wallet.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Payment } from '../domain/payment.ts';
import type { Seal } from '../domain/seal.ts';
import type { WalletDeps } from './deps.ts';

const told = ({ id, userId, type, amount }: Payment) => ({ payment_id: id, user_id: userId, type, amount });

/** A payment of our own moved money, or was paid elsewhere: a deposit when it is credited, any other when it is made. */
export const announceBooked = (
  { outbox }: Pick<WalletDeps, 'outbox'>,
  session: ClientSession,
  payment: Payment,
): Promise<void> =>
  outbox.emit(session, paymentBooked, {
    subject: payment.id,
    aggregateVersion: payment.version,
    data: told(payment),
  });

export const announceSettled = (
  { outbox }: Pick<WalletDeps, 'outbox'>,
  session: ClientSession,
  payment: Payment,
): Promise<void> =>
  outbox.emit(session, withdrawalSettled, {
    subject: payment.id,
    aggregateVersion: payment.version,
    data: {
      payment_id: payment.id,
      user_id: payment.userId,
      outcome: payment.isDone ? 'paid' : 'rejected',
    },
  });

/** A seal, and the payments in it that other services have booked. */
export const announceSealed = (
  { outbox }: Pick<WalletDeps, 'outbox'>,
  session: ClientSession,
  { number, hash, leaves }: Seal,
  payments: readonly Payment[],
): Promise<void> =>
  outbox.emit(session, ledgerSealed, {
    subject: 'ledger',
    aggregateVersion: number,
    data: { number, hash, entries: leaves.length, payments: payments.map(told) },
  });
