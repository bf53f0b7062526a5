/** The errors that keep a balance between 0 and 2^53 - 1. */
import { type AppError, badRequest, isAppError, message } from '@fitness/shared/kernel/error.ts';

const INSUFFICIENT = 'payments.insufficient_balance';
const FULL = 'payments.balance_limit';

export const insufficientBalance = (userId: number): AppError =>
  badRequest(INSUFFICIENT, message(INSUFFICIENT), `the wallet of user ${userId} has too little`);

export const isInsufficientBalance = (error: unknown): boolean =>
  isAppError(error) && error.code === INSUFFICIENT;

/** A balance above 2^53 - 1 would be rounded. */
export const balanceFull = (userId: number, amount: number): AppError =>
  badRequest(FULL, message(FULL), `the wallet of user ${userId} cannot hold ${amount} more`);

export const isBalanceFull = (error: unknown): boolean => isAppError(error) && error.code === FULL;
