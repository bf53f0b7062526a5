/**
 * HTTP calls to an external provider. Each has a deadline, and each provider one circuit breaker. The client of the
 * provider interprets the response.
 */
import { createCircuitBreaker } from '../kernel/circuit-breaker.ts';
import { SECOND_MS } from '../kernel/clock.ts';
import { scaledDeadline } from '../kernel/config.ts';
import type { Metrics } from '../kernel/metrics.ts';

export interface ProviderRequest {
  method: 'GET' | 'POST' | 'PUT';
  url: string;
  headers?: Record<string, string>;
  body?: string;
  /** Default: the deadline of the client. */
  deadlineMs?: number;
}

export interface ProviderResponse {
  status: number;
  /** The body. If it is longer than a megabyte, its beginning with an ellipsis, which is not valid JSON. */
  text: string;
  /** How long the provider asks to wait (`Retry-After`), in milliseconds. */
  retryAfterMs?: number | undefined;
}

export interface ProviderClientOptions {
  /** The name in metrics and errors, e.g. `zibal`. */
  target: string;
  metrics?: Metrics | undefined;
  /** Default 5 s. */
  deadlineMs?: number;
}

export interface ProviderClient {
  /**
   * Any response below 500. Throws {@link ProviderFailure} for a refused connection, a timeout, a 5xx, and while the
   * breaker is open. Its message contains neither the address nor the body, which may hold keys and tokens.
   */
  send(request: ProviderRequest): Promise<ProviderResponse>;
  close(): void;
}

/** There was no response, or a 5xx. */
class ProviderFailure extends Error {
  override name = 'ProviderFailure';
  /** See {@link ProviderResponse}. */
  readonly retryAfterMs: number | undefined;
  constructor(
    message: string,
    { retryAfterMs, cause }: { retryAfterMs?: number | undefined; cause?: unknown },
  ) {
    super(message, { cause });
    this.retryAfterMs = retryAfterMs;
  }
}

/** An open breaker, a name that was not resolved, and a refused connection. */
const NOT_SENT = new Set(['EOPENBREAKER', 'ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED']);

/** Whether the provider has certainly received nothing of the request that failed with `error`. */
export const isNotSent = (error: unknown): boolean =>
  error instanceof ProviderFailure && error.cause !== undefined && NOT_SENT.has(reasonOf(error.cause));

const DEADLINE_MS = 5_000;
const MAX_BODY_BYTES = 1024 * 1024;
const BREAKER_RESET_MS = 2_000;

export const createProviderClient = (options: ProviderClientOptions): ProviderClient => {
  const { target, metrics } = options;
  const exchange = async (request: ProviderRequest): Promise<ProviderResponse> => {
    const deadlineMs = scaledDeadline(request.deadlineMs ?? options.deadlineMs ?? DEADLINE_MS);
    const response = await fetch(request.url, {
      method: request.method,
      redirect: 'manual',
      signal: AbortSignal.timeout(deadlineMs),
      ...(request.headers === undefined ? {} : { headers: request.headers }),
      ...(request.body === undefined ? {} : { body: request.body }),
    });
    const retryAfterMs = readRetryAfter(response);
    if (response.status < 500)
      return { status: response.status, text: await readText(response), retryAfterMs };
    await response.body?.cancel();
    throw new ProviderFailure(`${target} returned ${response.status}`, { retryAfterMs });
  };
  const measured = (request: ProviderRequest): Promise<ProviderResponse> =>
    metrics === undefined ? exchange(request) : metrics.measureProvider(target, () => exchange(request));
  const breaker = createCircuitBreaker(measured, { target, metrics, resetTimeoutMs: BREAKER_RESET_MS });
  return {
    send: async (request) => {
      try {
        return await breaker.fire(request);
      } catch (error) {
        if (error instanceof ProviderFailure) throw error;
        throw new ProviderFailure(`${target} did not respond: ${reasonOf(error)}`, { cause: error });
      }
    },
    close: () => breaker.shutdown(),
  };
};

/** Seconds, or a date (RFC 9110, 10.2.3), which is compared with the clock of the provider. */
const readRetryAfter = ({ headers }: Response): number | undefined => {
  const value = headers.get('retry-after')?.trim() ?? '';
  if (/^\d{1,9}$/.test(value)) return Number(value) * SECOND_MS;
  const waitMs = Date.parse(value) - Date.parse(headers.get('date') ?? '');
  return Number.isNaN(waitMs) ? undefined : Math.max(0, waitMs);
};

/** At most {@link MAX_BODY_BYTES} of the body, whatever its headers say. */
const readText = async (response: Response): Promise<string> => {
  const decoder = new TextDecoder();
  let [text, bytes] = ['', 0];
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    // Leaving the loop cancels the stream.
    if (bytes > MAX_BODY_BYTES) return `${text}…`;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
};

/** The code or the name of a network error; not its message, which may contain the address. */
const reasonOf = (error: unknown): string => {
  const { name, code, cause } = error as { name?: string; code?: unknown; cause?: { code?: unknown } };
  const reason = [cause?.code, code, name].find((candidate) => typeof candidate === 'string');
  return reason ?? 'unknown';
};
