/** The refusal that stops overspending, in one place. */
import { type AppError, badRequest, isAppError, message } from '@fitness/shared/error.ts';

const CODE = 'payments.insufficient_balance';

export const insufficientBalance = (userId: number): AppError =>
  badRequest(CODE, message('payments.insufficient_balance'), `the wallet of user ${userId} has too little`);

export const isInsufficientBalance = (error: unknown): boolean => isAppError(error) && error.code === CODE;
