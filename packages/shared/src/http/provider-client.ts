/**
 * HTTP calls to an outside provider: each has a deadline and passes a circuit breaker of its provider. What the
 * provider means by its answer is the client's business; here counts only whether there was one.
 */
import CircuitBreaker from 'opossum';
import type { Metrics } from '../metrics.ts';

export interface ProviderRequest {
  method: 'GET' | 'POST' | 'PUT';
  url: string;
  headers?: Record<string, string>;
  body?: string;
  /** Default: the client's. */
  deadlineMs?: number;
}

export interface ProviderResponse {
  status: number;
  /** Of a body longer than a megabyte the beginning, and an ellipsis: that is nobody's JSON any more. */
  text: string;
}

export interface ProviderClientOptions {
  /** Names the provider in metrics and errors, e.g. `zibal`. */
  target: string;
  metrics?: Metrics | undefined;
  /** Default 5 s. */
  deadlineMs?: number;
}

export interface ProviderClient {
  /**
   * Any answer below 500. Throws {@link ProviderFailure} for a refused connection, a timeout, a 5xx, and while the
   * breaker is open. Its message names neither the address nor the body: keys and tokens may be in them.
   */
  send(request: ProviderRequest): Promise<ProviderResponse>;
  close(): void;
}

/** No answer could be had. */
class ProviderFailure extends Error {
  override name = 'ProviderFailure';
}

const DEADLINE_MS = 5_000;
const MAX_BODY_BYTES = 1024 * 1024;
const BREAKER = {
  timeout: false as const,
  volumeThreshold: 10,
  errorThresholdPercentage: 50,
  rollingCountTimeout: 10_000,
  resetTimeout: 2_000,
};

export const createProviderClient = (options: ProviderClientOptions): ProviderClient => {
  const { target, metrics } = options;
  const exchange = async (request: ProviderRequest): Promise<ProviderResponse> => {
    const deadlineMs = request.deadlineMs ?? options.deadlineMs ?? DEADLINE_MS;
    const response = await fetch(request.url, {
      method: request.method,
      redirect: 'manual',
      signal: AbortSignal.timeout(deadlineMs),
      ...(request.headers === undefined ? {} : { headers: request.headers }),
      ...(request.body === undefined ? {} : { body: request.body }),
    });
    if (response.status < 500) return { status: response.status, text: await readText(response) };
    await response.body?.cancel();
    throw new ProviderFailure(`${target} answered ${response.status}`);
  };
  const breaker = new CircuitBreaker(exchange, BREAKER);
  breaker.on('open', () => metrics?.breakerOpen.set({ target }, 1));
  breaker.on('close', () => metrics?.breakerOpen.set({ target }, 0));
  return {
    send: async (request) => {
      try {
        return await breaker.fire(request);
      } catch (error) {
        if ((error as Error).name === 'ProviderFailure') throw error;
        throw new ProviderFailure(`${target} gave no answer: ${reasonOf(error)}`, { cause: error });
      }
    },
    close: () => breaker.shutdown(),
  };
};

/** No more of it than fits into {@link MAX_BODY_BYTES}, whatever it claims to be. */
const readText = async (response: Response): Promise<string> => {
  const decoder = new TextDecoder();
  let [text, bytes] = ['', 0];
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    // Leaving the loop cancels the rest.
    if (bytes > MAX_BODY_BYTES) return `${text}…`;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
};

/** The code of a network error, or the kind of error: never its message, which may hold the address. */
const reasonOf = (error: unknown): string => {
  const { name, code, cause } = error as { name?: string; code?: unknown; cause?: { code?: unknown } };
  const known = [cause?.code, code, name].find((candidate) => typeof candidate === 'string');
  return known ?? 'unknown';
};
