/** `fitness.wallet.v1.Wallet`: bookings, balances and rates for the other services. */

import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { type GrpcService, grpcService } from '@fitness/shared/grpc/server.ts';
import { assertMaxItems, invalid, message } from '@fitness/shared/kernel/error.ts';
import type { UseCases } from '../use-cases.ts';

const MAX_BALANCES = 1_000;

export const createWalletService = ({
  book,
  getBalances,
  getRates,
}: Pick<UseCases, 'book' | 'getBalances' | 'getRates'>): GrpcService =>
  grpcService(grpcDefinitions.wallet(), {
    Book: async ({ idempotency_key: key, bookings }) => {
      const { paymentIds, replayed } = await book({
        key,
        bookings: bookings.map((booking) => ({
          userId: booking.user_id,
          type: booking.type,
          amount: booking.amount,
          description: booking.description ?? null,
          payableType: booking.payable_type ?? null,
          payableId: booking.payable_id ?? null,
        })),
      });
      return { payment_ids: [...paymentIds], replayed };
    },
    GetBalances: async ({ user_ids: userIds }) => {
      assertMaxItems('user_ids', userIds, MAX_BALANCES);
      if (!userIds.every((userId) => Number.isSafeInteger(userId) && userId > 0))
        throw invalid({ user_ids: message('validation.invalid') });
      const balances = await getBalances(userIds);
      return { balances: balances.map(({ userId, balance }) => ({ user_id: userId, balance })) };
    },
    GetRates: async () => {
      const { gatewayFeePercent, commissionPercent, vatPercent } = getRates();
      return {
        gateway_fee_percent: gatewayFeePercent,
        commission_percent: commissionPercent,
        vat_percent: vatPercent,
      };
    },
  });
