/** The errors of a redemption. */
import { AppError, badRequest, internalError, message } from '@fitness/shared/kernel/error.ts';
import type { Offer } from '../domain/offer.ts';

/** One error for an unknown product, another user's token and another product's token, so it reveals nothing. */
export const unknownPurchase = (internal: string): AppError =>
  new AppError({
    kind: 'not_found',
    code: 'store_purchase.not_found',
    message: message('store_purchase.not_found'),
    internal,
  });

export const targetNotFound = (): AppError =>
  new AppError({
    kind: 'not_found',
    code: 'store_purchase.target_not_found',
    message: message('store_purchase.target_not_found'),
  });

export const verificationFailed = (internal: string): AppError =>
  badRequest('store_purchase.verification_failed', message('store_purchase.verification_failed'), internal);

export const alreadyRunning = (offer: Offer): AppError => {
  const code =
    offer.kind === 'premium' ? 'store_purchase.premium_already_active' : 'store_purchase.boost_already_live';
  return badRequest(code, message(code));
};

export const providerError = (detail: string): AppError =>
  internalError('payments.provider_error', message('payments.provider_error'), detail);

export const grantFailed = (cause?: unknown): AppError =>
  internalError(
    'store_purchase.grant_failed',
    message('store_purchase.grant_failed'),
    'confirmed by the store and not granted',
    cause,
  );
