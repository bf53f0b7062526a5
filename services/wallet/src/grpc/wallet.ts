/** `fitness.wallet.v1.Wallet`: bookings and rates for the other services. */

import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { type GrpcService, grpcService } from '@fitness/shared/grpc/server.ts';
import type { UseCases } from '../use-cases.ts';

export const createWalletService = ({ book, rates }: UseCases): GrpcService =>
  grpcService(grpcDefinitions.wallet(), {
    Book: async ({ idempotency_key: key, bookings }, { from }) => {
      const { paymentIds, replayed } = await book({
        from,
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
    GetRates: async () => {
      const { gatewayFeePercent, commissionPercent, vatPercent } = rates;
      return {
        gateway_fee_percent: gatewayFeePercent,
        commission_percent: commissionPercent,
        vat_percent: vatPercent,
      };
    },
  });
