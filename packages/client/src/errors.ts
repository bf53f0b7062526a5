/** What the API answers instead of what was asked for. */

export interface ApiErrorFields {
  status: number;
  message: string;
  /** The same in every language and release; some errors have none. */
  code: string | undefined;
  /** Decoded JSON, else the text. */
  body: unknown;
  response: Response;
}

export class ApiError extends Error implements ApiErrorFields {
  override readonly name: string = 'ApiError';
  readonly status: number;
  readonly code: string | undefined;
  readonly body: unknown;
  readonly response: Response;

  constructor({ status, message, code, body, response }: ApiErrorFields) {
    super(message);
    this.status = status;
    this.code = code;
    this.body = body;
    this.response = response;
  }
}

/** 422 */
export class ValidationError extends ApiError {
  override readonly name = 'ValidationError';
  /** Messages by field. */
  readonly fields: Readonly<Record<string, readonly string[]>>;

  constructor(given: ApiErrorFields) {
    super(given);
    const errors = memberOf(given.body, 'errors');
    this.fields = isObject(errors) ? (errors as Record<string, string[]>) : {};
  }
}

/** 409; `code` tells the kinds apart. */
export class ConflictError extends ApiError {
  override readonly name = 'ConflictError';
}

/** 429 */
export class RateLimitError extends ApiError {
  override readonly name = 'RateLimitError';
  /** `undefined`: the answer does not say. */
  readonly retryAfterSeconds: number | undefined;

  constructor(given: ApiErrorFields) {
    super(given);
    this.retryAfterSeconds = retryAfterOf(given.response);
  }
}

/** 503, after the retries. */
export class UnavailableError extends ApiError {
  override readonly name = 'UnavailableError';
  readonly retryAfterSeconds: number | undefined;
  /** Whether the change may have been made nevertheless: read before repeating it. */
  readonly isOutcomeUnknown: boolean;

  constructor(given: ApiErrorFields) {
    super(given);
    this.retryAfterSeconds = retryAfterOf(given.response);
    this.isOutcomeUnknown = given.code === OUTCOME_UNKNOWN;
  }
}

export const OUTCOME_UNKNOWN = 'outcome_unknown';

const CLASSES: Readonly<Record<number, new (given: ApiErrorFields) => ApiError>> = {
  409: ConflictError,
  422: ValidationError,
  429: RateLimitError,
  503: UnavailableError,
};

/** `body`: as openapi-fetch has decoded it. */
export const toApiError = (response: Response, body: unknown): ApiError => {
  const { status } = response;
  // Errors of the store purchases and of account deletion have `error` instead of `message`.
  const message = memberOf(body, 'message') ?? memberOf(body, 'error') ?? response.statusText;
  const code = memberOf(body, 'code');
  return new (CLASSES[status] ?? ApiError)({
    status,
    message: String(message),
    code: typeof code === 'string' ? code : undefined,
    body,
    response,
  });
};

/** Seconds. */
export const retryAfterOf = ({ headers }: Response): number | undefined => {
  const value = headers.get('retry-after');
  return value !== null && /^\d+$/.test(value) ? Number(value) : undefined;
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

export const memberOf = (value: unknown, name: string): unknown =>
  isObject(value) ? value[name] : undefined;
