/** Every route of the wallet. Paths with a fixed segment precede those with an id. */
import type { Route } from '@fitness/shared/http/define-route.ts';
import type { Idempotency } from '@fitness/shared/mongo/idempotency.ts';
import type { UseCases } from '../use-cases.ts';
import { getBalanceRoute } from './get-balance.ts';
import { getDepositCallbackRoute } from './get-deposit-callback.ts';
import { getDisputedDepositsRoute } from './get-disputed-deposits.ts';
import { getPaymentRoute } from './get-payment.ts';
import { getPaymentHoursRoute } from './get-payment-hours.ts';
import { getPaymentsRoute } from './get-payments.ts';
import { getPricesRoute } from './get-prices.ts';
import { postDepositRoute } from './post-deposit.ts';
import { postResolutionRoute } from './post-resolution.ts';
import { claimRoutes, settlementRoutes } from './post-settlement.ts';
import { postWithdrawalRoute } from './post-withdrawal.ts';

interface RouteOptions {
  idempotency: Idempotency;
  /** The public origin, for the links in lists. */
  baseUrl: string;
}

export const createRoutes = (useCases: UseCases, { idempotency, baseUrl }: RouteOptions): Route[] => [
  getPaymentsRoute(useCases, baseUrl),
  getPaymentHoursRoute(useCases),
  getBalanceRoute(useCases),
  getPricesRoute(useCases),
  postDepositRoute(useCases, idempotency),
  getDepositCallbackRoute(useCases),
  getDisputedDepositsRoute(useCases, baseUrl),
  postWithdrawalRoute(useCases, idempotency),
  getPaymentRoute(useCases),
  ...settlementRoutes(useCases),
  ...claimRoutes(useCases),
  postResolutionRoute(useCases),
];
