/** Calls of the public API on behalf of the visitor of a page. */
import { API_PREFIX } from '@fitness/shared/http/gateway-protocol.ts';
import { GUEST, type SessionPage, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import { unauthenticated, unavailable } from '@fitness/shared/kernel/error.ts';
import type { Locale } from '@fitness/shared/kernel/i18n/translate.ts';
import type { FastifyRequest } from 'fastify';
import type { Dispatcher } from 'undici';
import type { Dependencies } from '../dependencies.ts';
import { assertAudience } from '../request/bearer.ts';
import { type ApiAnswer, type ApiCall, callApi, callInternal } from '../request/call-api.ts';
import { internalHeaders } from '../request/forward-headers.ts';
import { lostAnswer } from '../request/lost-answer.ts';
import { prepareForward } from '../request/prepare-forward.ts';
import type { Service } from '../request/routes.ts';
import type { Visit } from './visit.ts';

/** A request for a page, with what is needed to answer it. */
export interface PageContext {
  request: FastifyRequest;
  locale: Locale;
  dependencies: Pick<
    Dependencies,
    | 'agents'
    | 'baseUrl'
    | 'callerOf'
    | 'clock'
    | 'identity'
    | 'random'
    | 'serviceTimeoutMs'
    | 'signer'
    | 'trustedProxies'
    | 'urls'
  >;
}

/** An error of the API, in the language of the page. */
export interface Problem {
  status: number;
  /** Undefined if the messages of the fields explain the problem. */
  text: string | undefined;
  /** Error messages, keyed by API field. */
  fields: Readonly<Record<string, readonly string[]>>;
}

type CallDependencies = Parameters<typeof callApi>[2];

const dependenciesOf = ({ dependencies }: PageContext, visit: Visit): CallDependencies => ({
  ...dependencies,
  agent: dependencies.agents.ordinary,
  authenticate: async () => {
    if (visit.kind === 'guest') return GUEST;
    const caller = await dependencies.callerOf(visit.token);
    assertAudience(caller, dependencies.baseUrl, API_PREFIX);
    return caller;
  },
});

const assertAuthenticated = (answer: ApiAnswer): ApiAnswer => {
  if (answer.status === 401) throw unauthenticated();
  return answer;
};

/** Throws 401 if the visitor's token is no longer valid. */
export const call = async (context: PageContext, visit: Visit, apiCall: ApiCall): Promise<ApiAnswer> =>
  assertAuthenticated(await callApi(apiCall, context.request, dependenciesOf(context, visit)));

/** Calls an internal route of a service. Throws 401 if the visitor's token is no longer valid. */
export const callOf = async (
  context: PageContext,
  visit: Visit,
  service: Service,
  internal: ApiCall,
): Promise<ApiAnswer> =>
  assertAuthenticated(await callInternal(service, internal, context.request, dependenciesOf(context, visit)));

interface SessionLimit {
  page: SessionPage;
  seconds: number;
  idleSeconds?: number;
}

/**
 * Shortens the lifetime of a session, and restricts it to the calls of its page. Throws 401 for an ended session, and 503 if identity does
 * not confirm the limit.
 */
export const limitSession = async (
  context: PageContext,
  visit: Visit,
  { page, seconds, idleSeconds }: SessionLimit,
): Promise<void> => {
  const body = { page, seconds, ...(idleSeconds === undefined ? {} : { idle_seconds: idleSeconds }) };
  const call = { method: 'POST', path: '/session-limit', body } as const;
  const { status } = await callOf(context, visit, 'identity', call);
  if (status !== 204) throw unavailable(`the session was not limited: ${status}`);
};

/** Whether the token is a session that no other page has started. */
export const isSessionOf = ({ tokenKind, page }: UserCaller, own: SessionPage): boolean =>
  tokenKind === 'session' && (page ?? own) === own;

export const endSession = async (context: PageContext, visit: Visit): Promise<void> => {
  await call(context, visit, { method: 'POST', path: '/auth/logout' });
};

/** Limits a new session. A session that cannot be limited is ended, and its token never reaches a cookie. */
export const beginSession = async (
  context: PageContext,
  visit: Visit,
  limit: SessionLimit,
): Promise<void> => {
  try {
    await limitSession(context, visit, limit);
  } catch (error) {
    await endSession(context, visit);
    throw error;
  }
};

/**
 * Streams a file of the public API at the speed of the browser. Throws 401 if the visitor's token is no longer valid.
 */
export const download = async (
  context: PageContext,
  visit: Visit,
  path: string,
): Promise<Dispatcher.ResponseData> => {
  const { request, dependencies } = context;
  const forward = await prepareForward(request.raw, `${API_PREFIX}${path}`, dependenciesOf(context, visit));
  const { service, path: target, query } = forward.target;
  const call = {
    origin: dependencies.urls[service],
    path: `${target}${query}`,
    method: 'GET',
    headers: internalHeaders(request.id, forward),
  } as const;
  try {
    return await dependencies.agents.downloads.request(call);
  } catch (error) {
    throw lostAnswer('GET', service, error as Error);
  }
};

/** Calls `POST /auth/login` with the fields of the form. A 200 response contains the session token. */
export const callLogin = (
  context: PageContext,
  visit: Visit,
  {
    login = '',
    password = '',
    totp = '',
  }: Partial<Record<'login' | 'password' | 'totp', string | undefined>>,
): Promise<ApiAnswer> => {
  const body = { login, password, ...(totp === '' ? {} : { totp }) };
  return call(context, visit, { method: 'POST', path: '/auth/login', body });
};

export const problemIn = ({ status, body }: ApiAnswer): Problem => {
  const errors = body.errors as Record<string, string[]> | undefined;
  const text = body.message ?? body.error;
  return {
    status,
    text: errors === undefined && typeof text === 'string' ? text : undefined,
    fields: errors ?? {},
  };
};

export const retryAfterIn = ({ headers }: ApiAnswer): string | undefined => {
  const value = headers['retry-after'];
  return typeof value === 'string' ? value : undefined;
};
