/** AppError ↔ gRPC status. The code and the public text are sent as metadata. */
import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { z } from 'zod';
import { AppError, type ErrorKind, type Message, message } from '../kernel/error.ts';
import type { MessageKey } from '../kernel/i18n/catalogue.ts';

const ERROR_KEY = 'x-error-bin';

const GRPC_STATUS: Readonly<Record<ErrorKind, status>> = {
  bad_request: status.FAILED_PRECONDITION,
  unauthenticated: status.UNAUTHENTICATED,
  forbidden: status.PERMISSION_DENIED,
  not_found: status.NOT_FOUND,
  method_not_allowed: status.UNIMPLEMENTED,
  request_timeout: status.DEADLINE_EXCEEDED,
  conflict: status.ALREADY_EXISTS,
  too_large: status.RESOURCE_EXHAUSTED,
  unsupported_media_type: status.INVALID_ARGUMENT,
  validation: status.INVALID_ARGUMENT,
  rate_limited: status.RESOURCE_EXHAUSTED,
  internal: status.INTERNAL,
  not_implemented: status.UNIMPLEMENTED,
  unavailable: status.UNAVAILABLE,
};

/**
 * Kinds for a status without our metadata, which does not come from a handler. UNAUTHENTICATED is missing: it means that the
 * signature of the calling process was refused, which is not the user's error.
 */
const KIND_BY_STATUS: Partial<Record<status, ErrorKind>> = {
  [status.FAILED_PRECONDITION]: 'bad_request',
  [status.PERMISSION_DENIED]: 'forbidden',
  [status.NOT_FOUND]: 'not_found',
  [status.ALREADY_EXISTS]: 'conflict',
  [status.INVALID_ARGUMENT]: 'validation',
};

const textSchema = z.object({
  key: z.string(),
  params: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
});

const payloadSchema = textSchema.extend({
  code: z.string(),
  kind: z
    .custom<ErrorKind>((kind) => typeof kind === 'string' && Object.hasOwn(GRPC_STATUS, kind))
    .optional(),
  fields: z.record(z.string(), z.array(textSchema)).optional(),
  retry_after_s: z.number().optional(),
});

type Payload = z.output<typeof payloadSchema>;

export const toServiceError = (error: AppError): Partial<ServiceError> => {
  const metadata = new Metadata();
  const payload = {
    kind: error.kind,
    code: error.code,
    ...error.publicMessage,
    fields: error.fields,
    retry_after_s: error.retryAfterS,
  };
  metadata.set(ERROR_KEY, Buffer.from(JSON.stringify(payload)));
  return { code: GRPC_STATUS[error.kind], details: error.code, metadata };
};

const payloadOf = (error: Partial<ServiceError>): Payload | undefined => {
  const raw = error.metadata?.get(ERROR_KEY)[0];
  if (raw === undefined) return undefined;
  try {
    return payloadSchema.parse(JSON.parse(raw.toString()));
  } catch {
    return undefined;
  }
};

/** The code that the other service has named. */
export const codeOf = (error: Partial<ServiceError>): string | undefined => payloadOf(error)?.code;

const kindOf = (error: Partial<ServiceError>): ErrorKind | undefined =>
  payloadOf(error)?.kind ?? KIND_BY_STATUS[error.code as status];

/** True for errors that a handler threw: they open no breaker and are not retried. */
export const isRefusal = (error: Partial<ServiceError>): boolean => {
  const kind = kindOf(error);
  return kind !== undefined && kind !== 'internal' && kind !== 'unavailable';
};

/** The AppError that the other service threw. */
export const fromServiceError = (error: ServiceError): AppError => {
  const kind = kindOf(error) ?? 'unavailable';
  const payload = payloadOf(error);
  return new AppError({
    kind,
    code: payload?.code ?? kind,
    message: payload === undefined ? message('error.unavailable') : toMessage(payload),
    ...(payload?.fields === undefined ? {} : { fields: toFields(payload.fields) }),
    retryAfterS: payload?.retry_after_s,
    internal: `${error.code} ${error.details}`,
    cause: error,
  });
};

const toMessage = ({ key, params }: z.output<typeof textSchema>): Message =>
  message(key as MessageKey, params);

const toFields = (fields: NonNullable<Payload['fields']>): Record<string, Message[]> =>
  Object.fromEntries(Object.entries(fields).map(([name, texts]) => [name, texts.map(toMessage)]));
