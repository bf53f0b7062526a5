/** What content asks of the wallet. */
import type { WalletDefinition } from '@fitness/proto/gen/fitness/wallet/v1/Wallet.ts';
import { isAppError } from '@fitness/shared/error.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import { type Sale, saleBookings, saleKey } from '../domain/sale.ts';

export interface Wallet {
  /** What the house keeps of a sale, in percent. Throws `unavailable`. */
  commissionPercent(): Promise<number>;
  /**
   * Books the payments of a sale, at most once however often it is asked. `refused`: the buyer cannot pay, and nothing
   * is booked. Throws when the wallet did not say: then they may be booked or not.
   */
  book(sale: Sale): Promise<'booked' | 'refused'>;
}

/** The code of the wallet's refusal, a contract of `Wallet.Book`. */
const INSUFFICIENT_BALANCE = 'payments.insufficient_balance';

export const createWallet = (wallet: GrpcClient<WalletDefinition>): Wallet => ({
  commissionPercent: async () => (await wallet.call('GetRates', {}, { retry: true })).commission_percent,
  book: async (sale) => {
    const request = { idempotency_key: saleKey(sale.traineeId), bookings: saleBookings(sale) };
    try {
      await wallet.call('Book', request, { retry: true });
      return 'booked';
    } catch (error) {
      if (isAppError(error) && error.code === INSUFFICIENT_BALANCE) return 'refused';
      throw error;
    }
  },
});
