import { type AppError, outcomeUnknown, unavailable } from '@fitness/shared/kernel/error.ts';

/** Error codes of requests that were never sent. */
const NOT_SENT = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'],
  'UND_ERR_CONNECT_TIMEOUT',
]);
const WITHOUT_EFFECT = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The 503 for a service that did not respond. A request that was sent may have had its effect. */
export const lostAnswer = (method: string, service: string, cause: Error & { code?: string }): AppError => {
  const text = `${service}: ${cause.code ?? cause.message}`;
  const isHarmless = WITHOUT_EFFECT.has(method) || NOT_SENT.has(cause.code ?? '');
  return isHarmless ? unavailable(text, cause) : outcomeUnknown(text, cause);
};
