/**
 * Logs: one JSON line an entry, with the request id and the trace id of what is being served. Secrets and phone
 * numbers are redacted here, in one place: by field name, and by pattern inside free text.
 */
import pino, { type DestinationStream, type Logger, type LoggerOptions } from 'pino';
import { currentTrace, traceIdOf } from './trace.ts';

const SECRET_FIELDS = [
  'password',
  'current_password',
  'token',
  'purchase_token',
  'confirmation_code',
  'code',
  'phone',
  'receptor',
  'email',
  'authorization',
  'cookie',
  'api_key',
  'apiKey',
  'merchant',
  'secret',
  'bank_account_number',
  'login',
];

const paths = SECRET_FIELDS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

const SECRET_FIELD_NAMES = new Set(SECRET_FIELDS);
/** After camel case became snake case: `accessToken`, `set-cookie`, `GOOGLE_PLAY_PRIVATE_KEY`. */
const SECRET_FIELD =
  /(?:^|_)(?:password|secret|token|cookie|authorization|api_key|private_key|caller_context)$/;

const isSecretField = (name: string): boolean => {
  const snake = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase();
  return SECRET_FIELD_NAMES.has(snake) || SECRET_FIELD.test(snake);
};

/** Each with what takes its place; in this order, the more telling forms first. */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\/\/[^/\s:@]+:[^/\s@]+@/g, '//[redacted]@'],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]+/gi, '$1 [redacted]'],
  [/\bfp[a-z]_[A-Za-z0-9_-]{16,}/g, '[redacted token]'],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, '[redacted token]'],
  [/\/v1\/[^/\s]+\/(verify|sms)\//g, '/v1/[redacted]/$1/'],
  [
    /([?&](?:[\w-]{0,40}(?:token|key|secret|password|code)|receptor|phone|email|login|merchant)=)[^&#\s"']+/gi,
    '$1[redacted]',
  ],
  [
    /("(?:[\w-]{0,40}(?:token|secret|password|_code|_key)|code|receptor|phone|email|login|merchant)"\s*:\s*)"[^"]*"/gi,
    '$1"[redacted]"',
  ],
  [/[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[a-z]{2,}/gi, '[redacted e-mail]'],
  // Not a part of a longer word, a fraction or a UUID; a sentence may end behind it.
  [/(?<!\w|\w[.-])(?:\+|%2B|00)?\d{10,14}(?!\w|[.-]\w)/gi, '[redacted number]'],
];

/** Free text without credentials, provider keys in a path or query, e-mail addresses or phone numbers. */
export const scrub = (text: string): string =>
  PATTERNS.reduce((clean, [pattern, replacement]) => clean.replaceAll(pattern, replacement), text);

export interface LogOptions {
  service: string;
  level?: string | undefined;
  destination?: DestinationStream | undefined;
}

type SerializedError = ReturnType<typeof pino.stdSerializers.err> & { code?: unknown; kind?: unknown };

const serializeError = (error: Error): unknown => {
  const { type, code, kind, message, stack } = pino.stdSerializers.err(error) as SerializedError;
  return {
    type,
    ...(code === undefined ? {} : { error_code: code }),
    ...(kind === undefined ? {} : { kind }),
    message: scrub(String(message)),
    stack: scrub(String(stack)),
  };
};

const DEPTH = 8;

/** A copy without secrets, at any depth; instances of classes are left to their serializers. */
const redacted = (value: unknown, depth = 0): unknown => {
  if (typeof value === 'string') return scrub(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Error.isError(value)) return serializeError(value);
  if (depth >= DEPTH) return '[too deep]';
  if (Array.isArray(value)) return value.map((entry) => redacted(entry, depth + 1));
  if (!isPlain(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => {
      if (isSecretField(name)) return [name, entry == null ? entry : '[redacted]'];
      return [name, redacted(entry, depth + 1)];
    }),
  );
};

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};

/** Errors keep their key and get a message without secrets: pino would take the message of the error as it is. */
const cleanArguments: NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']> = function (
  args,
  method,
) {
  const [first, ...rest] = args as unknown[];
  const entry = Error.isError(first) ? { err: first } : first;
  const err = typeof entry === 'object' && entry !== null ? (entry as { err?: unknown }).err : undefined;
  const texts = rest.length === 0 && Error.isError(err) ? [err.message] : rest;
  const clean = [typeof entry === 'string' ? scrub(entry) : entry, ...texts.map((text) => redacted(text))];
  method.apply(this, clean as unknown as Parameters<typeof method>);
};

export const createLog = ({ service, level = 'info', destination }: LogOptions): Logger =>
  pino(
    {
      level,
      base: { service },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        log: (entry) => redacted(entry) as Record<string, unknown>,
      },
      hooks: { logMethod: cleanArguments },
      // Errors under any name are written by the formatter above; pino's own would do it once more.
      serializers: { err: (plain: unknown) => plain },
      redact: { paths, censor: '[redacted]' },
      mixin: () => {
        const trace = currentTrace();
        if (trace === undefined) return {};
        return {
          trace_id: traceIdOf(trace.traceparent),
          ...(trace.requestId === undefined ? {} : { request_id: trace.requestId }),
        };
      },
    },
    ...(destination === undefined ? [] : [destination]),
  );

export type { Logger };
