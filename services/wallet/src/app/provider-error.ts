import { AppError, message } from '@fitness/shared/kernel/error.ts';

export const PROVIDER_ERROR = 'payments.provider_error';
const TEXT = message('payments.provider_error');

/** The 500 error for a bank gateway that gave no usable response (specification 7). */
export const providerError = (cause: unknown): AppError =>
  new AppError({
    kind: 'internal',
    code: PROVIDER_ERROR,
    message: TEXT,
    internal: `payment gateway: ${cause instanceof Error ? cause.message : 'no answer'}`,
    body: (t) => ({ message: t(TEXT), code: PROVIDER_ERROR }),
    cause,
  });
