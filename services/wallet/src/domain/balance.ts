/** The refusals that keep a balance between zero and what is exact, in one place. */
import { type AppError, badRequest, isAppError, message } from '@fitness/shared/error.ts';

const INSUFFICIENT = 'payments.insufficient_balance';
const FULL = 'payments.balance_limit';

export const insufficientBalance = (userId: number): AppError =>
  badRequest(INSUFFICIENT, message(INSUFFICIENT), `the wallet of user ${userId} has too little`);

export const isInsufficientBalance = (error: unknown): boolean =>
  isAppError(error) && error.code === INSUFFICIENT;

/** A balance past 2^53 - 1 would be rounded: it is refused instead. */
export const balanceFull = (userId: number, amount: number): AppError =>
  badRequest(FULL, message(FULL), `the wallet of user ${userId} cannot hold ${amount} more`);

export const isBalanceFull = (error: unknown): boolean => isAppError(error) && error.code === FULL;
