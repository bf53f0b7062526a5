/** The errors of a purchase from the wallet. */
import { AppError, badRequest, message, unavailable } from '@fitness/shared/kernel/error.ts';
import type { Offer } from '../domain/offer.ts';
import type { WalletPurchase } from '../domain/wallet-purchase.ts';
import type { SlotRefusal } from '../store/slots.ts';

export const targetNotFound = (): AppError =>
  new AppError({
    kind: 'not_found',
    code: 'payments.target_not_found',
    message: message('payments.target_not_found'),
  });

export const alreadyRunning = (offer: Offer): AppError => {
  const code = offer.kind === 'premium' ? 'payments.premium_already_active' : 'payments.boost_already_live';
  return badRequest(code, message(code));
};

export const refusalError = (refusal: Pick<SlotRefusal, 'by'>, offer: Offer): AppError =>
  refusal.by === 'closed' ? targetNotFound() : alreadyRunning(offer);

/** Why the slot refused a refunded purchase: another purchase took it, or it was closed. */
export const storedRefusal = ({ undoneBecause }: WalletPurchase): Pick<SlotRefusal, 'by'> => ({
  by: undoneBecause === 'active' ? 'active' : 'closed',
});

/** The wallet was charged, and the slot refused the grant. */
export const refundedError = (purchase: WalletPurchase): AppError =>
  refusalError(storedRefusal(purchase), purchase.order.offer);

/** The wallet refused the charge. */
export const undoneError = ({ undoneBecause }: WalletPurchase): AppError =>
  undoneBecause === 'payments.insufficient_balance'
    ? badRequest(undoneBecause, message('payments.insufficient_balance'))
    : unavailable(`the wallet refused: ${undoneBecause}`);
