/** Every public route of this service. Paths with a fixed word stand before those with an id. */
import type { Route } from '@fitness/shared/http/define-route.ts';
import type { UseCases } from '../app/use-cases.ts';
import { getBalanceRoute } from './get-balance.ts';
import { getDepositCallbackRoute } from './get-deposit-callback.ts';
import { getPaymentRoute } from './get-payment.ts';
import { getPricesRoute } from './get-prices.ts';
import { listDisputedDepositsRoute } from './list-disputed-deposits.ts';
import { listPaymentsRoute } from './list-payments.ts';
import { postDepositRoute } from './post-deposit.ts';
import { settlementRoutes } from './post-settlement.ts';
import { postWithdrawalRoute } from './post-withdrawal.ts';

/** `baseUrl`: the public origin, for the links of lists. */
export const createRoutes = (useCases: UseCases, baseUrl: string): Route[] => [
  listPaymentsRoute(useCases.listPayments, baseUrl),
  getBalanceRoute(useCases.showBalance),
  getPricesRoute(useCases.listPrices),
  postDepositRoute(useCases.requestDeposit),
  getDepositCallbackRoute(useCases.receiveCallback),
  listDisputedDepositsRoute(useCases.listDisputedDeposits, baseUrl),
  postWithdrawalRoute(useCases.requestWithdrawal),
  getPaymentRoute(useCases.showPayment),
  ...settlementRoutes(useCases.settleWithdrawal),
];
