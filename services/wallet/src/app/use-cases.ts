/** Everything that this service does, wired; the doors take from here what they serve. */
import { createEvaluateBlocker, type EvaluateBlocker } from './blockers/evaluate-blocker.ts';
import { type Book, createBook } from './book.ts';
import type { WalletDeps } from './deps.ts';
import { createEraseUser, type EraseUser } from './erase-user.ts';
import { createListDisputedDeposits, type ListDisputedDeposits } from './list-disputed-deposits.ts';
import { createListPayments, type ListPayments } from './list-payments.ts';
import { createListPrices, type ListPrices } from './list-prices.ts';
import { createReceiveCallback, type ReceiveCallback } from './receive-callback.ts';
import { createRecordStorePurchase, type RecordStorePurchase } from './record-store-purchase.ts';
import { createRequestDeposit, type RequestDeposit } from './request-deposit.ts';
import { createRequestWithdrawal, type RequestWithdrawal } from './request-withdrawal.ts';
import { createSealLedger, type SealLedger } from './seal-ledger.ts';
import { createSettleDeposit } from './settle-deposit.ts';
import { createSettleWithdrawal, type SettleWithdrawal } from './settle-withdrawal.ts';
import { createShowBalance, type ShowBalance } from './show-balance.ts';
import { createShowPayment, type ShowPayment } from './show-payment.ts';
import { createSweepDeposits, type SweepDeposits } from './sweep-deposits.ts';

export interface UseCases {
  book: Book;
  /** Spendable balances in the order asked for. */
  getBalances(userIds: readonly number[]): Promise<{ userId: number; balance: number }[]>;
  getRates(): WalletDeps['rates'];
  evaluateBlocker: EvaluateBlocker;
  listPayments: ListPayments;
  listDisputedDeposits: ListDisputedDeposits;
  showPayment: ShowPayment;
  showBalance: ShowBalance;
  listPrices: ListPrices;
  requestDeposit: RequestDeposit;
  receiveCallback: ReceiveCallback;
  sweepDeposits: SweepDeposits;
  requestWithdrawal: RequestWithdrawal;
  settleWithdrawal: SettleWithdrawal;
  recordStorePurchase: RecordStorePurchase;
  eraseUser: EraseUser;
  sealLedger: SealLedger;
}

/** `returnUrl`: where a payer's browser goes after the bank. */
export const createUseCases = (deps: WalletDeps, returnUrl: string | undefined): UseCases => {
  const settleDeposit = createSettleDeposit(deps);
  return {
    book: createBook(deps),
    getBalances: async (userIds) => {
      const balances = await deps.store.wallets.balances(userIds);
      return [...balances].map(([userId, balance]) => ({ userId, balance }));
    },
    getRates: () => deps.rates,
    evaluateBlocker: createEvaluateBlocker(deps),
    listPayments: createListPayments(deps),
    listDisputedDeposits: createListDisputedDeposits(deps),
    showPayment: createShowPayment(deps),
    showBalance: createShowBalance(deps),
    listPrices: createListPrices(deps),
    requestDeposit: createRequestDeposit(deps),
    receiveCallback: createReceiveCallback(deps, settleDeposit, returnUrl),
    sweepDeposits: createSweepDeposits(deps, settleDeposit),
    requestWithdrawal: createRequestWithdrawal(deps),
    settleWithdrawal: createSettleWithdrawal(deps),
    recordStorePurchase: createRecordStorePurchase(deps),
    eraseUser: createEraseUser(deps),
    sealLedger: createSealLedger(deps),
  };
};
