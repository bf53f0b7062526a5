/** Sends requests with a timeout for each attempt. Retries only where a retry cannot have a second effect. */
import { memberOf, NetworkError, OUTCOME_UNKNOWN, retryAfterOf } from './errors.ts';

export interface SendOptions {
  /** Maximum number of retries. Default 3; 0 disables them. */
  retries?: number;
  /** A 503 with a longer `Retry-After` is returned at once. Default 30. */
  maxRetryAfterSeconds?: number;
  /** Timeout of each attempt, until its response begins. Default 30,000. */
  timeoutMs?: number;
  /** Replaces `timeoutMs` for uploads. Default 600,000. */
  uploadTimeoutMs?: number;
}

export type Send = (request: Request) => Promise<Response>;

const FIRST_WAIT_MS = 500;

/** Rejects with a `NetworkError`, or with the reason of the caller's signal. */
export const createSend = (
  send: Send,
  { retries = 3, maxRetryAfterSeconds = 30, timeoutMs = 30_000, uploadTimeoutMs = 600_000 }: SendOptions,
): Send => {
  const attempt: Send = (request) =>
    sendInTime(send, request, isUpload(request) ? uploadTimeoutMs : timeoutMs);

  return async (request) => {
    if (retries === 0 || !isRepeatable(request)) return attempt(request);
    for (let done = 0; ; done += 1) {
      // A body can be read once: each attempt gets a copy.
      const outcome = await attempt(request.clone()).catch((error: unknown) => error);
      const waitMs =
        outcome instanceof Response
          ? await waitAfterResponse(request, outcome, maxRetryAfterSeconds)
          : waitAfterError(outcome, done);
      if (waitMs === undefined || done === retries) {
        if (outcome instanceof Response) return outcome;
        throw outcome;
      }
      if (outcome instanceof Response) await outcome.body?.cancel();
      await delay(waitMs, request.signal);
    }
  };
};

/** Milliseconds until the next attempt, or undefined if the response is final. */
const waitAfterResponse = async (
  request: Request,
  response: Response,
  maxRetryAfterSeconds: number,
): Promise<number | undefined> => {
  const seconds = response.status === 503 ? retryAfterOf(response) : undefined;
  if (seconds === undefined || seconds > maxRetryAfterSeconds) return undefined;
  if (!hasKey(request) && (await isOutcomeUnknown(response))) return undefined;
  return seconds * 1_000;
};

const waitAfterError = (error: unknown, done: number): number | undefined =>
  error instanceof NetworkError ? FIRST_WAIT_MS * 2 ** done * (0.5 + Math.random()) : undefined;

const sendInTime = async (send: Send, request: Request, timeoutMs: number): Promise<Response> => {
  const { method, url, signal } = request;
  // AbortSignal.any and AbortSignal.timeout are missing in React Native.
  const controller = new AbortController();
  const stop = (): void => controller.abort(signal.reason);
  let isTimeout = false;
  const timer = setTimeout(() => {
    isTimeout = true;
    controller.abort();
  }, timeoutMs);
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await send(new Request(request, { signal: controller.signal }));
  } catch (cause) {
    if (signal.aborted) throw reasonOf(signal);
    throw new NetworkError({ method, url, isTimeout, cause });
  } finally {
    clearTimeout(timer);
    // The caller may abort until the body has been read.
    if (controller.signal.aborted) signal.removeEventListener('abort', stop);
  }
};

const hasKey = ({ headers }: Request): boolean => headers.has('idempotency-key');

/** Checks the address, because in React Native a form has no content type until the system sends it. */
const isUpload = ({ method, url }: Request): boolean =>
  method === 'POST' && /\/api\/v1\/media(?:\?|$)/.test(url);

const isRepeatable = (request: Request): boolean =>
  request.method === 'GET' || (request.method === 'POST' && hasKey(request));

const isOutcomeUnknown = async (response: Response): Promise<boolean> => {
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined);
  return memberOf(body, 'code') === OUTCOME_UNKNOWN;
};

/** React Native has neither `reason` nor `throwIfAborted`. */
const reasonOf = (signal: AbortSignal): unknown => signal.reason ?? new Error('The request was aborted.');

const delay = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(reasonOf(signal));
      return;
    }
    const abort = (): void => {
      clearTimeout(timer);
      reject(reasonOf(signal));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal.addEventListener('abort', abort, { once: true });
  });
