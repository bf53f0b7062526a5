/** The wallet service, for purchases that the platform sells. */
import type { WalletDefinition } from '@fitness/proto/gen/fitness/wallet/v1/Wallet.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import { SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import { type AppError, isAppError } from '@fitness/shared/kernel/error.ts';

export interface Booking {
  /** The idempotency key, the same for all tries, so the wallet books it once. */
  key: string;
  userId: number;
  /** Whole Tooman. */
  amount: number;
  payableType: string;
  payableId: number;
}

/** `booked`: by this or an earlier try. `refused`: not booked. `unknown`: either. */
type BookingOutcome =
  | { outcome: 'booked' }
  | { outcome: 'refused'; error: AppError }
  | { outcome: 'unknown'; error: unknown };

export interface Wallet {
  /** Takes the amount from the user's wallet. Never throws. */
  charge(charge: Booking): Promise<BookingOutcome>;
  /** Returns the amount to the user's wallet. Never throws. */
  refund(charge: Booking): Promise<BookingOutcome>;
}

/** Long, because a timeout leaves the saga open. Shorter than the time after which a charge is treated as settled. */
const BOOKING_DEADLINE_MS = 10 * SECOND_MS;

export const createWallet = (client: GrpcClient<WalletDefinition>): Wallet => {
  const book = async (type: 'purchase' | 'income', charge: Booking): Promise<BookingOutcome> => {
    const booking = {
      user_id: charge.userId,
      type,
      amount: charge.amount,
      payable_type: charge.payableType,
      payable_id: charge.payableId,
    };
    try {
      // Not retried: the refusal of a second try would say nothing while the first is still running.
      const request = { idempotency_key: charge.key, bookings: [booking] };
      await client.call('Book', request, { deadlineMs: BOOKING_DEADLINE_MS });
      return { outcome: 'booked' };
    } catch (error) {
      if (isAppError(error) && error.kind !== 'unavailable') return { outcome: 'refused', error };
      return { outcome: 'unknown', error };
    }
  };
  return { charge: (charge) => book('purchase', charge), refund: (charge) => book('income', charge) };
};
