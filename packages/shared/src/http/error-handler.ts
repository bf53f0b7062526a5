/** Errors → HTTP answers, in one place. A 500 says nothing about our insides. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError, HTTP_STATUS, isAppError, message } from '../error.ts';
import { negotiateLocale } from '../i18n/negotiate.ts';
import { translator } from '../i18n/translate.ts';
import type { ErrorStyle } from './define-route.ts';

const STYLED_STATUSES = new Set([400, 404, 500]);

const known = (kind: AppError['kind'], key: Parameters<typeof message>[0]): AppError =>
  new AppError({ kind, code: kind, message: message(key) });

/** What Fastify and its parsers throw, in our terms; undefined for a fault of ours. */
const fromFramework = (error: { code?: unknown; statusCode?: unknown }): AppError | undefined => {
  switch (error.code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return known('unsupported_media_type', 'error.unsupported_media_type');
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
    case 'FST_REQ_FILE_TOO_LARGE':
      return known('too_large', 'error.too_large');
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return known('bad_request', 'error.malformed_json');
  }
  const status = error.statusCode;
  if (typeof status !== 'number' || status < 400 || status >= 500) return undefined;
  if (status === 413) return known('too_large', 'error.too_large');
  if (status === 415) return known('unsupported_media_type', 'error.unsupported_media_type');
  return known('bad_request', 'error.bad_request');
};

export const toAppError = (error: unknown): AppError => {
  if (isAppError(error)) return error;
  return (
    fromFramework((error ?? {}) as { code?: unknown; statusCode?: unknown }) ??
    new AppError({ kind: 'internal', code: 'internal', message: message('error.internal'), cause: error })
  );
};

export const sendError = (
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  style: ErrorStyle = 'message',
): FastifyReply => {
  const failed = toAppError(error);
  const status = HTTP_STATUS[failed.kind];
  if (status >= 500)
    request.log.error({ err: failed.cause ?? failed, error_code: failed.code }, failed.message);
  const locale = negotiateLocale(request.headers['accept-language']);
  const t = translator(locale);
  if (failed.headers !== undefined) reply.headers(failed.headers);
  if (failed.retryAfterS !== undefined) reply.header('retry-after', String(failed.retryAfterS));
  reply.code(status).header('content-language', locale).type('application/json; charset=utf-8');
  return reply.serializer(JSON.stringify).send(bodyOf(failed, status, style, t));
};

const bodyOf = (
  failed: AppError,
  status: number,
  style: ErrorStyle,
  t: ReturnType<typeof translator>,
): Record<string, unknown> => {
  if (failed.body !== undefined) return failed.body(t);
  const text = t(failed.text);
  if (failed.kind === 'validation') {
    const entries = Object.entries(failed.fields ?? {}).map(([name, texts]) => [name, texts.map(t)]);
    return { message: text, errors: Object.fromEntries(entries) };
  }
  if (style === 'error_code' && STYLED_STATUSES.has(status)) return { error: text, code: failed.code };
  return { message: text };
};
