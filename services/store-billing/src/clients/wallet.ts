/** The wallet, as far as the house's own purchases need it. */
import type { WalletDefinition } from '@fitness/proto/gen/fitness/wallet/v1/Wallet.ts';
import { SECOND_MS } from '@fitness/shared/clock.ts';
import { type AppError, isAppError } from '@fitness/shared/error.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';

interface Charge {
  /** Stable over all tries: the wallet books it once. */
  key: string;
  userId: number;
  /** Whole Tooman. */
  amount: number;
  payableType: string;
  payableId: number;
}

/** `booked`, now or before. `refused`: definitely not booked. `unknown`: nobody can say. */
type ChargeOutcome =
  | { outcome: 'booked' }
  | { outcome: 'refused'; error: AppError }
  | { outcome: 'unknown'; error: unknown };

export interface Wallet {
  /** Takes the amount from the user's wallet. Never throws. */
  charge(charge: Charge): Promise<ChargeOutcome>;
  /** Gives it back. Never throws. */
  refund(charge: Charge): Promise<ChargeOutcome>;
}

/** Well below the lease of a saga. */
const BOOKING_DEADLINE_MS = 10 * SECOND_MS;

export const createWallet = (client: GrpcClient<WalletDefinition>): Wallet => {
  const book = async (type: 'purchase' | 'income', charge: Charge): Promise<ChargeOutcome> => {
    const booking = {
      user_id: charge.userId,
      type,
      amount: charge.amount,
      payable_type: charge.payableType,
      payable_id: charge.payableId,
    };
    try {
      // Nobody but its user waits for it, and giving up too early costs a saga's whole lease. Not retried here: a first try that is still on its way would make the second one's refusal worthless.
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
