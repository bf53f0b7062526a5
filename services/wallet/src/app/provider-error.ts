/** The bank gateway gave no usable answer: the code under the key `message` (specification 7). */
import { AppError, message } from '@fitness/shared/error.ts';

const CODE = 'payments.provider_error';
const TEXT = message('payments.provider_error');

export const providerError = (cause: unknown): AppError =>
  new AppError({
    kind: 'internal',
    code: CODE,
    message: TEXT,
    internal: `payment gateway: ${(cause as Error | null)?.message ?? 'no answer'}`,
    body: (t) => ({ message: t(TEXT), code: CODE }),
    cause,
  });
