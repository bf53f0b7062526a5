import { AppError, message } from '@fitness/shared/kernel/error.ts';

const CODE = 'payments.provider_error';
const TEXT = message('payments.provider_error');

/** 500 when the bank gateway gave no usable answer (specification 7). */
export const providerError = (cause: unknown): AppError =>
  new AppError({
    kind: 'internal',
    code: CODE,
    message: TEXT,
    internal: `payment gateway: ${cause instanceof Error ? cause.message : 'no answer'}`,
    body: (t) => ({ message: t(TEXT), code: CODE }),
    cause,
  });
