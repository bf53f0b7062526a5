/**
 * Logs: one JSON line an entry, with the request id and the trace id of what is being served. Secrets and phone
 * numbers are redacted here, in one place: by field name, and by pattern inside free text.
 */
import pino, { type DestinationStream, type Logger } from 'pino';
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

const paths = SECRET_FIELDS.flatMap((field) => {
  const name = field.includes('-') ? `["${field}"]` : field;
  return [name, `*.${name}`, `*.*.${name}`];
});

const PHONE = /(?<![\w.-])(?:\+|00)?\d{10,14}(?![\w.-])/g;
const TOKEN = /\bfp[a-z]_[A-Za-z0-9_-]{16,}/g;
const PROVIDER_KEY = /\/v1\/[^/\s]+\/(verify|sms)\//g;
const CREDENTIALS = /\/\/[^/\s:@]+:[^/\s@]+@/g;

/** Free text without credentials of ours, provider keys in a path, or phone numbers. */
export const scrub = (text: string): string =>
  text
    .replace(CREDENTIALS, '//[redacted]@')
    .replace(TOKEN, '[redacted token]')
    .replace(PROVIDER_KEY, '/v1/[redacted]/$1/')
    .replace(PHONE, '[redacted number]');

export interface LogOptions {
  service: string;
  level?: string | undefined;
  destination?: DestinationStream | undefined;
}

const errorSerializer = (error: unknown): unknown => {
  const plain = pino.stdSerializers.err(error as Error) as Record<string, unknown> | undefined;
  if (typeof plain !== 'object' || plain === null) return plain;
  const { type, code, kind } = plain;
  return {
    type,
    ...(code === undefined ? {} : { error_code: code }),
    ...(kind === undefined ? {} : { kind }),
    message: scrub(String(plain.message ?? '')),
    stack: scrub(String(plain.stack ?? '')),
  };
};

export const createLog = ({ service, level = 'info', destination }: LogOptions): Logger =>
  pino(
    {
      level,
      base: { service },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: errorSerializer, error: errorSerializer },
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
