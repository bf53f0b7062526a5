/**
 * Logs are JSON lines with the request id and the trace id of the current request. Secrets and phone numbers are
 * redacted here: by field name, and inside free text by pattern and by value.
 */
import pino, { type DestinationStream, type Logger, type LoggerOptions } from 'pino';
import { currentTrace, spanIdOf, traceIdOf } from './trace.ts';

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
  'totp',
  'recovery_codes',
  'bank_account_number',
  'login',
];

const SECRET_FIELD_NAMES = new Set(SECRET_FIELDS);
/** Matched in snake case: `accessToken` as `access_token`. */
const SECRET_FIELD =
  /(?:^|_)(?:password|secret|token|cookie|authorization|api_key|private_key|caller_context)$/;

const isSecretField = (name: string): boolean => {
  const snake = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase();
  return SECRET_FIELD_NAMES.has(snake) || SECRET_FIELD.test(snake);
};

/** Patterns and their replacements; the more specific ones come first. */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\/\/[^/\s:@]+:[^/\s@]+@/g, '//[redacted]@'],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]+/gi, '$1 [redacted]'],
  // Tokens of this product.
  [/\bfp[a-z]_[A-Za-z0-9_-]{16,}/g, '[redacted token]'],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, '[redacted token]'],
  [
    /([?&](?:[\w-]{0,40}(?:token|key|secret|password|code)|receptor|phone|email|login|merchant)=)[^&#\s"']+/gi,
    '$1[redacted]',
  ],
  [
    /("(?:[\w-]{0,40}(?:token|secret|password|_code|_key)|code|receptor|phone|email|login|merchant)"\s*:\s*)"[^"]*"/gi,
    '$1"[redacted]"',
  ],
  [/[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[a-z]{2,}/gi, '[redacted e-mail]'],
  // Not part of a longer word, a decimal fraction or a UUID; a full stop may follow.
  [/(?<!\w|\w[.-])(?:\+|%2B|00)?\d{10,14}(?!\w|[.-]\w)/gi, '[redacted number]'],
];

/** A shorter value may be an ordinary word, whose redaction would make the log unreadable. */
const SHORTEST_HIDDEN = 8;

/** Literals only, so that a search takes linear time. */
const hidden = new Set<string>();
let hiddenValues = /(?!)/g;

const encodingsOf = (value: string): string[] => [
  value,
  encodeURI(value),
  encodeURIComponent(value),
  new URLSearchParams([['', value]]).toString().slice(1),
  JSON.stringify(value).slice(1, -1),
];

/**
 * Redacts these values from now on, in any letter case and in the encodings of a URL, a form and JSON. Each line of a value
 * is treated as a separate one, because a private key may be printed line by line.
 */
export const hideSecrets = (secrets: readonly string[]): void => {
  for (const line of secrets.flatMap((secret) => secret.split(/\r?\n/)))
    if (line.length >= SHORTEST_HIDDEN) for (const encoding of encodingsOf(line)) hidden.add(encoding);
  if (hidden.size === 0) return;
  const longestFirst = [...hidden].sort((one, other) => other.length - one.length);
  hiddenValues = new RegExp(longestFirst.map((text) => RegExp.escape(text)).join('|'), 'gi');
};

/** Redacts hidden secrets, other credentials, email addresses and phone numbers. */
export const redactText = (text: string): string =>
  PATTERNS.reduce(
    (clean, [pattern, replacement]) => clean.replaceAll(pattern, replacement),
    text.replaceAll(hiddenValues, '[redacted]'),
  );

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
    message: redactText(String(message)),
    stack: redactText(String(stack)),
  };
};

const MAX_DEPTH = 8;

/** A deep copy without secrets; class instances without a JSON form of their own are left as they are. */
const redactValue = (value: unknown, depth = 0): unknown => {
  if (typeof value === 'string') return redactText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Error.isError(value)) return serializeError(value);
  if (depth >= MAX_DEPTH) return '[too deep]';
  if (Array.isArray(value)) return value.map((entry) => redactValue(entry, depth + 1));
  if (!isPlain(value)) return hasJson(value) ? redactValue(value.toJSON(), depth + 1) : value;
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => {
      if (isSecretField(name)) return [name, entry == null ? entry : '[redacted]'];
      return [name, redactValue(entry, depth + 1)];
    }),
  );
};

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};

/** For example a URL or a date. */
const hasJson = (value: object): value is { toJSON(): unknown } =>
  typeof (value as { toJSON?: unknown }).toJSON === 'function';

/** Redacts the message of an error, which pino would log unchanged. */
const redactArguments: NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']> = function (
  args,
  method,
) {
  const [first, ...rest] = args as unknown[];
  const entry = Error.isError(first) ? { err: first } : first;
  const err = typeof entry === 'object' && entry !== null ? (entry as { err?: unknown }).err : undefined;
  const texts = rest.length === 0 && Error.isError(err) ? [err.message] : rest;
  const clean = [
    typeof entry === 'string' ? redactText(entry) : entry,
    ...texts.map((text) => redactValue(text)),
  ];
  method.apply(this, clean as unknown as Parameters<typeof method>);
};

/** Formatters do not see the fields of child loggers. */
const redactChildren = (log: Logger): Logger => {
  const { child } = log;
  function redactedChild(this: Logger, fields: object, options?: object): Logger {
    return Reflect.apply(child, this, [redactValue(fields), options]) as Logger;
  }
  return Object.assign(log, { child: redactedChild });
};

export const createLog = ({ service, level = 'info', destination }: LogOptions): Logger => {
  const log = pino(
    {
      level,
      base: { service },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        log: (entry) => redactValue(entry) as Record<string, unknown>,
      },
      hooks: { logMethod: redactArguments },
      // The formatter above serializes errors under every key; pino's own serializer would repeat it.
      serializers: { err: (plain: unknown) => plain },
      mixin: () => {
        const trace = currentTrace();
        if (trace === undefined) return {};
        return {
          trace_id: traceIdOf(trace.traceparent),
          span_id: spanIdOf(trace.traceparent),
          ...(trace.requestId === undefined ? {} : { request_id: trace.requestId }),
        };
      },
    },
    ...(destination === undefined ? [] : [destination]),
  );
  return redactChildren(log);
};

interface AccessEntry {
  trace_id: string;
  span_id: string;
  request_id: string;
  method: string;
  route: string;
  /** The service that has responded, if the request was forwarded. */
  upstream?: string | undefined;
  status: string;
  ms: number;
}

/** Flushes of buffered lines. Each runs when the process exits, at the latest. */
const unwritten = new Set<() => void>();
process.once('exit', () => {
  for (const write of unwritten) write();
});

/**
 * Writes all lines of one tick of the event loop with one call at its end, because a call costs more than a line. A killed
 * process loses at most the lines of that tick.
 */
const oncePerTick = (destination: DestinationStream): DestinationStream => {
  let lines = '';
  const flush = (): void => {
    unwritten.delete(flush);
    const text = lines;
    lines = '';
    if (text !== '') destination.write(text);
  };
  return {
    write: (line) => {
      if (lines === '') {
        unwritten.add(flush);
        setImmediate(flush);
      }
      lines += line;
    },
  };
};

/**
 * Writes to the destination of `log`, at its level. No field of {@link AccessEntry} can hold a secret, so entries are not
 * searched for secrets. The search would cost more than the rest of the line.
 */
export const createAccessLog = (log: Logger): ((entry: AccessEntry) => void) => {
  const destination = oncePerTick(
    (log as unknown as Record<symbol, DestinationStream>)[pino.symbols.streamSym] as DestinationStream,
  );
  const lines = pino(
    {
      level: log.level,
      base: log.bindings(),
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
  return (entry) => lines.info(entry, 'request');
};

export type { Logger };
