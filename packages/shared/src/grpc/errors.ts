/** AppError ↔ gRPC status, in one place. The stable code and the public text travel in metadata. */
import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { z } from 'zod';
import { AppError, type ErrorKind, type Message, message } from '../error.ts';
import type { MessageKey } from '../i18n/translate.ts';

const ERROR_KEY = 'x-error-bin';

const GRPC_STATUS: Readonly<Record<ErrorKind, status>> = {
  bad_request: status.FAILED_PRECONDITION,
  unauthenticated: status.UNAUTHENTICATED,
  forbidden: status.PERMISSION_DENIED,
  not_found: status.NOT_FOUND,
  method_not_allowed: status.UNIMPLEMENTED,
  conflict: status.ALREADY_EXISTS,
  too_large: status.RESOURCE_EXHAUSTED,
  unsupported_media_type: status.INVALID_ARGUMENT,
  validation: status.INVALID_ARGUMENT,
  rate_limited: status.RESOURCE_EXHAUSTED,
  internal: status.INTERNAL,
  unavailable: status.UNAVAILABLE,
};

const KIND_BY_STATUS: Partial<Record<status, ErrorKind>> = {
  [status.FAILED_PRECONDITION]: 'bad_request',
  [status.UNAUTHENTICATED]: 'unauthenticated',
  [status.PERMISSION_DENIED]: 'forbidden',
  [status.NOT_FOUND]: 'not_found',
  [status.ALREADY_EXISTS]: 'conflict',
  [status.INVALID_ARGUMENT]: 'validation',
};

const payloadSchema = z.object({
  code: z.string(),
  key: z.string(),
  params: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
});

export const toServiceError = (error: AppError): Partial<ServiceError> => {
  const metadata = new Metadata();
  const payload = { code: error.code, key: error.text.key, params: error.text.params };
  metadata.set(ERROR_KEY, Buffer.from(JSON.stringify(payload)));
  return { code: GRPC_STATUS[error.kind], details: error.code, metadata };
};

/** True for answers that the other side meant: they open no breaker and are never retried. */
export const isRefusal = (error: { code?: unknown }): boolean =>
  KIND_BY_STATUS[error.code as status] !== undefined;

/** A refusal of another service as the AppError that it threw there. */
export const fromServiceError = (error: ServiceError): AppError => {
  const kind = KIND_BY_STATUS[error.code] ?? 'unavailable';
  const raw = error.metadata?.get(ERROR_KEY)[0];
  const payload = raw === undefined ? undefined : payloadSchema.safeParse(JSON.parse(raw.toString())).data;
  const text: Message = message((payload?.key ?? 'error.unavailable') as MessageKey, payload?.params);
  return new AppError({
    kind,
    code: payload?.code ?? kind,
    message: text,
    internal: `${error.code} ${error.details}`,
    cause: error,
  });
};
