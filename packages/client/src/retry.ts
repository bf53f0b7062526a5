/** Repeats requests that were answered 503, where repeating cannot do a thing twice. */
import { memberOf, OUTCOME_UNKNOWN, retryAfterOf } from './errors.ts';

export interface RetryOptions {
  /** Repetitions of a request; default 3, 0 for none. */
  retries?: number;
  /** A 503 that asks to wait longer is returned at once; default 30. */
  maxRetryAfterSeconds?: number;
}

export type Send = (request: Request) => Promise<Response>;

export const withRetries =
  (send: Send, { retries = 3, maxRetryAfterSeconds = 30 }: RetryOptions): Send =>
  async (request) => {
    if (retries === 0 || !isRepeatable(request)) return send(request);
    for (let left = retries; ; left -= 1) {
      // A body can be read once: each attempt gets a copy.
      const response = await send(request.clone());
      const seconds = response.status === 503 && left > 0 ? retryAfterOf(response) : undefined;
      if (seconds === undefined || seconds > maxRetryAfterSeconds) return response;
      if (!hasKey(request) && (await isOutcomeUnknown(response))) return response;
      await response.body?.cancel();
      await delay(seconds * 1_000, request.signal);
    }
  };

const hasKey = ({ headers }: Request): boolean => headers.has('idempotency-key');

const isRepeatable = (request: Request): boolean =>
  request.method === 'GET' || (request.method === 'POST' && hasKey(request));

const isOutcomeUnknown = async (response: Response): Promise<boolean> => {
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  return memberOf(body, 'code') === OUTCOME_UNKNOWN;
};

const delay = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal.addEventListener('abort', abort, { once: true });
  });
