/** Errors that the API returns, and the error for a request without a response. */
import type { KnownErrorCode } from './generated/known-values.ts';

/** A later release of the API may add codes. */
export type ErrorCode = KnownErrorCode | (string & Record<never, never>);

export class ApiError extends Error {
  override readonly name: string = 'ApiError';
  readonly status: number;
  /** Stable across languages and releases. Some errors have none. */
  readonly code: ErrorCode | undefined;
  /** `X-Request-Id`. Operators use it to find the request in the logs. */
  readonly requestId: string | undefined;
  /** The decoded JSON, or the text if the body is not JSON. */
  readonly body: unknown;
  readonly response: Response;

  /** `body` is the body as openapi-fetch decoded it. */
  constructor(response: Response, body: unknown) {
    // Errors of the store purchases and of account deletion have `error` instead of `message`.
    super(String(memberOf(body, 'message') ?? memberOf(body, 'error') ?? response.statusText));
    const code = memberOf(body, 'code');
    this.status = response.status;
    this.code = typeof code === 'string' ? code : undefined;
    this.requestId = response.headers.get('x-request-id') ?? undefined;
    this.body = body;
    this.response = response;
  }
}

/** 422 */
export class ValidationError extends ApiError {
  override readonly name = 'ValidationError';
  /** Messages by field. */
  readonly fields: Readonly<Record<string, readonly string[]>>;

  constructor(response: Response, body: unknown) {
    super(response, body);
    const errors = memberOf(body, 'errors');
    this.fields = isObject(errors) ? (errors as Record<string, string[]>) : {};
  }
}

/** 409; `code` distinguishes the kinds. */
export class ConflictError extends ApiError {
  override readonly name = 'ConflictError';
}

/** 429 */
export class RateLimitError extends ApiError {
  override readonly name = 'RateLimitError';
  /** `undefined` if the response has no `Retry-After`. */
  readonly retryAfterSeconds: number | undefined;

  constructor(response: Response, body: unknown) {
    super(response, body);
    this.retryAfterSeconds = retryAfterOf(response);
  }
}

/** 503, after the retries. */
export class UnavailableError extends ApiError {
  override readonly name = 'UnavailableError';
  readonly retryAfterSeconds: number | undefined;
  /** Whether the change may have been made anyway. Read the state before you retry. */
  readonly isOutcomeUnknown: boolean;

  constructor(response: Response, body: unknown) {
    super(response, body);
    this.retryAfterSeconds = retryAfterOf(response);
    this.isOutcomeUnknown = this.code === OUTCOME_UNKNOWN;
  }
}

interface Unanswered {
  method: string;
  url: string;
  isTimeout: boolean;
  cause: unknown;
}

/** No response arrived: the connection was refused or lost, or the request timed out. */
export class NetworkError extends Error {
  override readonly name = 'NetworkError';
  override readonly cause: unknown;
  readonly isTimeout: boolean;
  /** Whether the change may have been made anyway. Read the state before you retry. */
  readonly isOutcomeUnknown: boolean;

  constructor({ method, url, isTimeout, cause }: Unanswered) {
    super(`${method} ${url.split('?')[0]}: ${isTimeout ? 'no answer in time' : 'no connection'}`);
    this.cause = cause;
    this.isTimeout = isTimeout;
    this.isOutcomeUnknown = method !== 'GET';
  }
}

export const OUTCOME_UNKNOWN = 'outcome_unknown';

const CLASSES: Readonly<Record<number, typeof ApiError>> = {
  409: ConflictError,
  422: ValidationError,
  429: RateLimitError,
  503: UnavailableError,
};

export const toApiError = (response: Response, body: unknown): ApiError =>
  new (CLASSES[response.status] ?? ApiError)(response, body);

export interface Outcome {
  data?: unknown;
  error?: unknown;
  response: Response;
}

/** Resolves with the data of a successful response. Rejects with an `ApiError` for any other. */
export const unwrap = async <Result extends Outcome>(
  answer: Promise<Result>,
): Promise<Exclude<Result['data'], undefined>> => {
  const { data, error, response } = await answer;
  if (!response.ok) throw toApiError(response, error);
  return data as Exclude<Result['data'], undefined>;
};

/** `Retry-After` in seconds. */
export const retryAfterOf = ({ headers }: Response): number | undefined => {
  const value = headers.get('retry-after');
  return value !== null && /^\d+$/.test(value) ? Number(value) : undefined;
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

export const memberOf = (value: unknown, name: string): unknown =>
  isObject(value) ? value[name] : undefined;
