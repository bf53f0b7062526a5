/** Every use case of the wallet. */
import { createBlockers } from './app/blockers.ts';
import { createBook } from './app/book.ts';
import { createClaimWithdrawal, createReleaseWithdrawal } from './app/claim-withdrawal.ts';
import { createCountPaymentHours } from './app/count-payment-hours.ts';
import { createEraseAccount } from './app/erase-account.ts';
import { createHoldCredits } from './app/hold-credits.ts';
import { createListDisputedDeposits } from './app/list-disputed-deposits.ts';
import { createListPayments } from './app/list-payments.ts';
import { createListPrices } from './app/list-prices.ts';
import { createListRestoredMoney } from './app/list-restored-money.ts';
import { createReceiveCallback } from './app/receive-callback.ts';
import { createRecordStorePurchase } from './app/record-store-purchase.ts';
import { createRequestDeposit } from './app/request-deposit.ts';
import { createRequestWithdrawal } from './app/request-withdrawal.ts';
import { createResolveDeposit } from './app/resolve-deposit.ts';
import { createRestoreDeposits } from './app/restore-deposits.ts';
import { createSealLedger } from './app/seal-ledger.ts';
import { createSettleDeposit } from './app/settle-deposit.ts';
import { createSettleWithdrawal } from './app/settle-withdrawal.ts';
import { createShowBalance } from './app/show-balance.ts';
import { createShowPayment } from './app/show-payment.ts';
import { createSweepDeposits } from './app/sweep-deposits.ts';
import type { Dependencies } from './dependencies.ts';

export type UseCases = ReturnType<typeof createUseCases>;

export const createUseCases = (dependencies: Dependencies) => {
  const settleDeposit = createSettleDeposit(dependencies);
  const holdCredits = createHoldCredits(dependencies);
  return {
    book: createBook(dependencies),
    rates: dependencies.rates,
    listPayments: createListPayments(dependencies),
    countPaymentHours: createCountPaymentHours(dependencies),
    listDisputedDeposits: createListDisputedDeposits(dependencies),
    showPayment: createShowPayment(dependencies),
    showBalance: createShowBalance(dependencies),
    listPrices: createListPrices(dependencies),
    listRestoredMoney: createListRestoredMoney(dependencies),
    restoreDeposits: createRestoreDeposits({ ...dependencies, settleDeposit }),
    requestDeposit: createRequestDeposit(dependencies),
    receiveCallback: createReceiveCallback({ ...dependencies, settleDeposit }),
    resolveDeposit: createResolveDeposit(dependencies),
    sweepDeposits: createSweepDeposits({ ...dependencies, settleDeposit, holdCredits }),
    requestWithdrawal: createRequestWithdrawal(dependencies),
    claimWithdrawal: createClaimWithdrawal(dependencies),
    releaseWithdrawal: createReleaseWithdrawal(dependencies),
    settleWithdrawal: createSettleWithdrawal(dependencies),
    recordStorePurchase: createRecordStorePurchase(dependencies),
    eraseAccount: createEraseAccount(dependencies),
    sealLedger: createSealLedger(dependencies),
    blockers: createBlockers(dependencies),
  };
};
