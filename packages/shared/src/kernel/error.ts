/**
 * The class of all errors that clients see. Its kind maps to HTTP and to gRPC in one place each. It has a stable
 * code, a catalogue key for the public text, and a text for the logs.
 */
import type { MessageKey, MessageParams } from './i18n/catalogue.ts';

export type ErrorKind =
  | 'bad_request'
  | 'unauthenticated'
  | 'forbidden'
  | 'not_found'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'conflict'
  | 'too_large'
  | 'unsupported_media_type'
  | 'validation'
  | 'rate_limited'
  | 'internal'
  | 'not_implemented'
  | 'unavailable';

export const HTTP_STATUS: Readonly<Record<ErrorKind, number>> = {
  bad_request: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  too_large: 413,
  unsupported_media_type: 415,
  validation: 422,
  rate_limited: 429,
  internal: 500,
  not_implemented: 501,
  unavailable: 503,
};

/** A public text: a key of the catalogues and its parameters. */
export interface Message {
  key: MessageKey;
  params?: MessageParams | undefined;
}

export const message = (key: MessageKey, params?: MessageParams): Message => ({ key, params });

export interface AppErrorOptions {
  kind: ErrorKind;
  /** Stable and machine readable; part of the client contract where a response body contains it. */
  code: string;
  message: Message;
  /** 422 only: field name → its messages. */
  fields?: Record<string, Message[]> | undefined;
  /** Text for the logs, never sent to clients. */
  internal?: string | undefined;
  /** Whole seconds for `Retry-After`. */
  retryAfterS?: number | undefined;
  /** Additional headers of the HTTP response. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Replaces the usual body where the specification defines another one; built in the client's language. */
  body?: ((t: (text: Message) => string) => Record<string, unknown>) | undefined;
  cause?: unknown;
}

export class AppError extends Error {
  override name = 'AppError';
  readonly kind: ErrorKind;
  readonly code: string;
  /** The text for the client; `message` is the text for the logs. */
  readonly publicMessage: Message;
  readonly fields: Record<string, Message[]> | undefined;
  readonly retryAfterS: number | undefined;
  readonly headers: AppErrorOptions['headers'];
  readonly body: AppErrorOptions['body'];

  constructor(options: AppErrorOptions) {
    super(
      options.internal ?? options.code,
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.kind = options.kind;
    this.code = options.code;
    this.publicMessage = options.message;
    this.fields = options.fields;
    this.retryAfterS = options.retryAfterS;
    this.headers = options.headers;
    this.body = options.body;
  }
}

export const isAppError = (error: unknown): error is AppError => error instanceof AppError;

export const unauthenticated = (): AppError =>
  new AppError({
    kind: 'unauthenticated',
    code: 'unauthenticated',
    message: message('error.unauthenticated'),
  });

export const forbidden = (internal?: string): AppError =>
  new AppError({ kind: 'forbidden', code: 'forbidden', message: message('error.forbidden'), internal });

export const SECOND_FACTOR_REQUIRED = 'auth.second_factor_required';

/** 403 for staff who would be allowed to do this with a second factor. */
export const secondFactorRequired = (): AppError => {
  const text = message('auth.second_factor_required');
  return new AppError({
    kind: 'forbidden',
    code: SECOND_FACTOR_REQUIRED,
    message: text,
    body: (t) => ({ message: t(text), code: SECOND_FACTOR_REQUIRED }),
  });
};

export const notFound = (code = 'not_found', internal?: string): AppError =>
  new AppError({ kind: 'not_found', code, message: message('error.not_found'), internal });

/** @param allowed The methods of the path. */
export const methodNotAllowed = (allowed: readonly string[]): AppError =>
  new AppError({
    kind: 'method_not_allowed',
    code: 'method_not_allowed',
    message: message('error.method_not_allowed'),
    headers: { allow: allowed.join(', ') },
  });

/** 422 with messages by field name. */
export const invalid = (fields: Record<string, Message | Message[]>): AppError =>
  new AppError({
    kind: 'validation',
    code: 'validation_failed',
    message: message('error.validation'),
    fields: Object.fromEntries(
      Object.entries(fields).map(([name, text]) => [name, Array.isArray(text) ? text : [text]]),
    ),
  });

/** 422 under `field` for a list with more than `max` items. */
export const assertMaxItems = (field: string, items: readonly unknown[], max: number): void => {
  if (items.length > max) throw invalid({ [field]: message('validation.max_items', { count: max }) });
};

/** 503: a dependency that the response needs cannot be reached; nothing was changed. */
export const unavailable = (internal: string, cause?: unknown): AppError =>
  new AppError({
    kind: 'unavailable',
    code: 'unavailable',
    message: message('error.unavailable'),
    internal,
    retryAfterS: 5,
    cause,
  });

export const OUTCOME_UNKNOWN = 'outcome_unknown';

/** 503: it is unknown whether the request took effect. */
export const outcomeUnknown = (internal: string, cause?: unknown): AppError =>
  new AppError({
    kind: 'unavailable',
    code: OUTCOME_UNKNOWN,
    message: message('error.outcome_unknown'),
    internal,
    retryAfterS: 5,
    cause,
  });

export const conflict = (code: string, text: Message): AppError =>
  new AppError({ kind: 'conflict', code, message: text });

/** 400 with a stable code. */
export const badRequest = (code: string, text: Message, internal?: string): AppError =>
  new AppError({ kind: 'bad_request', code, message: text, internal });

/** A 500 that the specification defines, with a stable code. */
export const internalError = (code: string, text: Message, internal?: string, cause?: unknown): AppError =>
  new AppError({ kind: 'internal', code, message: text, internal, cause });
