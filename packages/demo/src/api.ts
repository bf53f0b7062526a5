/** A client for the public API, over HTTP through the gateway, and for payments in the sandbox. */
import { setTimeout as sleep } from 'node:timers/promises';

/** How long a request that is safe to repeat is retried while the response is 503. */
const RETRY_FOR_MS = 10_000;
const RETRY_DELAY_MS = 200;
const REQUEST_TIMEOUT_MS = 15_000;

interface Answer {
  status: number;
  location: string | null;
  body: unknown;
}

interface SendOptions {
  token?: string;
  /** JSON or a form. */
  body?: Record<string, unknown> | FormData;
  /** `Idempotency-Key`. */
  key?: string;
}

export interface DemoApi {
  /**
   * `path` is below `/api/v1`. Requests that are safe to repeat are retried while the response is 503. Only a
   * POST without a key is not safe, unless it signs in. Rejects if there is no response.
   */
  send(method: 'GET' | 'POST' | 'PUT', path: string, options?: SendOptions): Promise<Answer>;
  /** Like {@link send}, but returns the body. Rejects for any status but 200 and 201. */
  read<Body>(method: 'GET' | 'POST' | 'PUT', path: string, options?: SendOptions): Promise<Body>;
  /**
   * Pays in the sandbox and follows the redirect to the callback. Returns false if the sandbox does not know the
   * payment.
   */
  pay(trackId: string): Promise<boolean>;
}

export interface DemoApiOptions {
  /** Origin of the gateway. */
  apiUrl: string;
  /** Origin of the sandbox. Without it, payments are impossible. */
  sandboxUrl: string | undefined;
  signal: AbortSignal;
}

const toAnswer = async (response: Response): Promise<Answer> => {
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  return {
    status: response.status,
    location: response.headers.get('location'),
    body: isJson ? JSON.parse(text) : undefined,
  };
};

const describe = ({ status, body }: Answer): string =>
  `${status} ${(body as { message?: string } | undefined)?.message ?? ''}`.trim();

export const createDemoApi = ({ apiUrl, sandboxUrl, signal }: DemoApiOptions): DemoApi => {
  const ask = async (url: string, init: RequestInit): Promise<Answer> =>
    toAnswer(
      await fetch(url, {
        ...init,
        redirect: 'manual',
        signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
      }),
    );

  const askUntilAvailable = async (url: string, init: RequestInit, retryForMs: number): Promise<Answer> => {
    const giveUpAt = performance.now() + retryForMs;
    for (;;) {
      const answer = await ask(url, init);
      if (answer.status !== 503 || performance.now() >= giveUpAt) return answer;
      await sleep(RETRY_DELAY_MS, undefined, { signal });
    }
  };

  const send: DemoApi['send'] = async (method, path, { token, body, key } = {}) => {
    const isForm = body instanceof FormData;
    const init = {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    };
    const isRepeatable = method !== 'POST' || key !== undefined || path === '/auth/login';
    return askUntilAvailable(`${apiUrl}/api/v1${path}`, init, isRepeatable ? RETRY_FOR_MS : 0);
  };

  return {
    send,
    read: async <Body>(...[method, path, options]: Parameters<typeof send>) => {
      const answer = await send(method, path, options);
      if (answer.status !== 200 && answer.status !== 201) {
        throw new Error(`${method} ${path} answered ${describe(answer)}`);
      }
      return answer.body as Body;
    },
    pay: async (trackId) => {
      const url = `${sandboxUrl}/_sandbox/zibal/${encodeURIComponent(trackId)}/pay`;
      const paid = await ask(url, { method: 'POST' });
      if (paid.location === null) return false;
      // The redirect names the public origin, which may be unreachable from this process.
      const { pathname, search } = new URL(paid.location);
      const callback = await askUntilAvailable(
        `${apiUrl}${pathname}${search}`,
        { method: 'GET' },
        RETRY_FOR_MS,
      );
      if (callback.status >= 400) throw new Error(`the payment callback answered ${describe(callback)}`);
      return true;
    },
  };
};
