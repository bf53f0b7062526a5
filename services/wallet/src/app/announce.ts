/** What the wallet tells others, in the transaction that makes it true. */

import { paymentBooked, withdrawalSettled } from '@fitness/proto/events/wallet.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Payment } from '../domain/payment.ts';
import type { WalletDeps } from './deps.ts';

/** The payment moved money, or was paid elsewhere: a deposit when it is credited, any other when it is made. */
export const announceBooked = (
  { outbox }: Pick<WalletDeps, 'outbox'>,
  session: ClientSession,
  payment: Payment,
): Promise<void> =>
  outbox.emit(session, paymentBooked, {
    subject: payment.id,
    aggregateVersion: payment.version,
    data: { payment_id: payment.id, user_id: payment.userId, type: payment.type, amount: payment.amount },
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
