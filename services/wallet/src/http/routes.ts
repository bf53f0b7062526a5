/** Every public route of the wallet. Paths with a fixed segment precede those with an id. */
import type { Route } from '@fitness/shared/http/define-route.ts';
import type { Idempotency } from '@fitness/shared/mongo/idempotency.ts';
import type { UseCases } from '../use-cases.ts';
import { getBalanceRoute } from './get-balance.ts';
import { getDepositCallbackRoute } from './get-deposit-callback.ts';
import { getPaymentRoute } from './get-payment.ts';
import { getPricesRoute } from './get-prices.ts';
import { listDisputedDepositsRoute } from './list-disputed-deposits.ts';
import { listPaymentsRoute } from './list-payments.ts';
import { postDepositRoute } from './post-deposit.ts';
import { postResolutionRoute } from './post-resolution.ts';
import { settlementRoutes } from './post-settlement.ts';
import { postWithdrawalRoute } from './post-withdrawal.ts';

interface RouteOptions {
  idempotency: Idempotency;
  /** The public origin, for the links of lists. */
  baseUrl: string;
}

export const createRoutes = (useCases: UseCases, { idempotency, baseUrl }: RouteOptions): Route[] => [
  listPaymentsRoute(useCases.listPayments, baseUrl),
  getBalanceRoute(useCases.showBalance),
  getPricesRoute(useCases.listPrices),
  postDepositRoute(useCases.requestDeposit, idempotency),
  getDepositCallbackRoute(useCases.receiveCallback),
  listDisputedDepositsRoute(useCases.listDisputedDeposits, baseUrl),
  postWithdrawalRoute(useCases.requestWithdrawal, idempotency),
  getPaymentRoute(useCases.showPayment),
  ...settlementRoutes(useCases.settleWithdrawal),
  postResolutionRoute(useCases.resolveDeposit),
];
