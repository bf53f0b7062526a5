import type { WalletDefinition } from '@fitness/proto/gen/fitness/wallet/v1/Wallet.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import { isAppError } from '@fitness/shared/kernel/error.ts';
import { type Sale, saleBookings, saleKey } from '../domain/sale.ts';

export interface Wallet {
  /** The platform's commission on a sale, in percent. Throws `unavailable`. */
  commissionPercent(): Promise<number>;
  /**
   * Books the payments of a sale; repeated calls book once. `refused`: the balance is too low, and nothing is booked.
   * Throws if the outcome is unknown.
   */
  book(sale: Sale): Promise<'booked' | 'refused'>;
}

/** The error code of `Wallet.Book`. */
const INSUFFICIENT_BALANCE = 'payments.insufficient_balance';

export const createWallet = (wallet: GrpcClient<WalletDefinition>): Wallet => ({
  commissionPercent: async () => (await wallet.call('GetRates', {}, { retry: true })).commission_percent,
  book: async (sale) => {
    const request = { idempotency_key: saleKey(sale.traineeId), bookings: saleBookings(sale) };
    try {
      // Not retried: the refusal of a second try would say nothing while the first is still running.
      await wallet.call('Book', request);
      return 'booked';
    } catch (error) {
      if (isAppError(error) && error.code === INSUFFICIENT_BALANCE) return 'refused';
      throw error;
    }
  },
});
