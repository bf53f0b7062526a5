/** Maps errors to HTTP responses. A 500 contains no internal details. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError, badRequest, HTTP_STATUS, isAppError, message, OUTCOME_UNKNOWN } from '../kernel/error.ts';
import { negotiateLocale } from '../kernel/i18n/negotiate.ts';
import { translator } from '../kernel/i18n/translate.ts';
import { toOutage } from '../kernel/outage.ts';
import { currentScope } from '../kernel/request-scope.ts';
import type { ErrorStyle } from './define-route.ts';

/** Errors with the body `{error, code}` on a route with that style. */
export const CODED_STATUSES: ReadonlySet<number> = new Set([400, 404, 500]);

const clientError = (kind: AppError['kind'], key: Parameters<typeof message>[0]): AppError =>
  new AppError({ kind, code: kind, message: message(key) });

interface FrameworkError {
  code?: unknown;
  statusCode?: unknown;
}

/** The AppError for an error of Fastify or its parsers; undefined for a server error. */
const fromFramework = (error: FrameworkError): AppError | undefined => {
  switch (error.code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return clientError('unsupported_media_type', 'error.unsupported_media_type');
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
    case 'FST_REQ_FILE_TOO_LARGE':
      return clientError('too_large', 'error.too_large');
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return clientError('bad_request', 'error.malformed_json');
  }
  const status = error.statusCode;
  if (typeof status !== 'number' || status < 400 || status >= 500) return undefined;
  if (status === 413) return clientError('too_large', 'error.too_large');
  if (status === 415) return clientError('unsupported_media_type', 'error.unsupported_media_type');
  return badRequest('bad_request', message('error.bad_request'));
};

export const toAppError = (error: unknown, scope = currentScope()): AppError => {
  // This comes first: the framework has a status for client errors, such as a body that breaks off with ECONNRESET.
  const framework = isAppError(error) ? undefined : fromFramework((error ?? {}) as FrameworkError);
  const appError = framework ?? toOutage(error, scope) ?? (isAppError(error) ? error : undefined);
  return (
    appError ??
    new AppError({ kind: 'internal', code: 'internal', message: message('error.internal'), cause: error })
  );
};

/**
 * Keeps the connection that the framework would close after an unread body. A client that is still sending would lose the
 * response; Node reads and drops the rest. Call it before setting the error's headers, which may close the connection.
 */
export const keepConnection = (reply: FastifyReply): void => {
  const { raw } = reply;
  // A header that is set on the raw response means that the server is closing.
  const isSetForBody = reply.hasHeader('connection') && !raw.hasHeader('connection');
  if (isSetForBody && raw.shouldKeepAlive) reply.header('connection', 'keep-alive');
};

/** Logs failures that operators must know of. A 501 is caused by the client. */
export const logFailure = ({ log }: FastifyRequest, error: AppError): void => {
  if (HTTP_STATUS[error.kind] < 500 || error.kind === 'not_implemented') return;
  log.error({ err: error.cause ?? error, error_code: error.code }, error.message);
};

export const sendError = (
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  style: ErrorStyle = 'message',
): FastifyReply => {
  const appError = toAppError(error, request.scope ?? undefined);
  const status = HTTP_STATUS[appError.kind];
  logFailure(request, appError);
  const locale = negotiateLocale(request.headers['accept-language']);
  const t = translator(locale);
  keepConnection(reply);
  if (appError.headers !== undefined) reply.headers(appError.headers);
  if (appError.retryAfterS !== undefined) reply.header('retry-after', String(appError.retryAfterS));
  reply.code(status).header('content-language', locale).type('application/json; charset=utf-8');
  return reply.serializer(JSON.stringify).send(bodyOf(appError, status, style, t));
};

const bodyOf = (
  appError: AppError,
  status: number,
  style: ErrorStyle,
  t: ReturnType<typeof translator>,
): Record<string, unknown> => {
  if (appError.body !== undefined) return appError.body(t);
  const text = t(appError.publicMessage);
  if (appError.kind === 'validation') {
    const entries = Object.entries(appError.fields ?? {}).map(([name, texts]) => [name, texts.map(t)]);
    return { message: text, errors: Object.fromEntries(entries) };
  }
  if (style === 'error_code' && CODED_STATUSES.has(status)) return { error: text, code: appError.code };
  return appError.code === OUTCOME_UNKNOWN ? { message: text, code: appError.code } : { message: text };
};
