/** The public API as the demo data's people use it: over HTTP, through this gateway's own door. */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';

/** For how long a part that cannot be reached is asked again. */
const PATIENCE_MS = 10_000;
const RETRY_DELAY_MS = 200;
const REQUEST_TIMEOUT_MS = 15_000;

interface Answer {
  status: number;
  location: string | null;
  body: unknown;
}

interface SendOptions {
  token?: string;
  body?: Record<string, unknown>;
  /** `Idempotency-Key`. */
  key?: string;
}

export interface DemoApi {
  /**
   * `path` is below `/api/v1`. What can be repeated without harm (anything but a POST without a key, and signing in)
   * is repeated while the answer is 503. Rejects when no answer could be had.
   */
  send(method: 'GET' | 'POST' | 'PUT', path: string, options?: SendOptions): Promise<Answer>;
  /** {@link send}, and the answer's body by `schema`. Rejects for another status than 200 or 201. */
  read<Schema extends z.ZodType>(
    schema: Schema,
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    options?: SendOptions,
  ): Promise<z.output<Schema>>;
  /** The payer's click at the bank, and the way back that it leads to. False when the bank knows no such payment. */
  pay(trackId: string): Promise<boolean>;
}

export interface DemoApiOptions {
  /** Origin of the gateway. */
  apiUrl: string;
  /** Origin of the sandbox; without it nothing can be paid. */
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

const describe = ({ status, body }: Answer): string => {
  const parsed = z.object({ message: z.string() }).safeParse(body);
  return parsed.success ? `${status} ${parsed.data.message}` : String(status);
};

export const createDemoApi = ({ apiUrl, sandboxUrl, signal }: DemoApiOptions): DemoApi => {
  const ask = async (url: string, init: RequestInit): Promise<Answer> =>
    toAnswer(
      await fetch(url, {
        ...init,
        redirect: 'manual',
        signal: AbortSignal.any([signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
      }),
    );

  const askPatiently = async (url: string, init: RequestInit, patienceMs: number): Promise<Answer> => {
    const giveUpAt = performance.now() + patienceMs;
    for (;;) {
      const answer = await ask(url, init);
      if (answer.status !== 503 || performance.now() >= giveUpAt) return answer;
      await sleep(RETRY_DELAY_MS, undefined, { signal });
    }
  };

  const send: DemoApi['send'] = async (method, path, { token, body, key } = {}) => {
    const init = {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
    const isRepeatable = method !== 'POST' || key !== undefined || path === '/auth/login';
    return askPatiently(`${apiUrl}/api/v1${path}`, init, isRepeatable ? PATIENCE_MS : 0);
  };

  return {
    send,
    read: async (schema, method, path, options) => {
      const answer = await send(method, path, options);
      if (answer.status !== 200 && answer.status !== 201) {
        throw new Error(`${method} ${path} answered ${describe(answer)}`);
      }
      return schema.parse(answer.body);
    },
    pay: async (trackId) => {
      const url = `${sandboxUrl}/_sandbox/zibal/${encodeURIComponent(trackId)}/pay`;
      const click = await ask(url, { method: 'POST' });
      if (click.location === null) return false;
      // The public origin need not be reachable from here.
      const { pathname, search } = new URL(click.location);
      const back = await askPatiently(`${apiUrl}${pathname}${search}`, { method: 'GET' }, PATIENCE_MS);
      if (back.status >= 400) throw new Error(`the way back from the bank answered ${describe(back)}`);
      return true;
    },
  };
};
