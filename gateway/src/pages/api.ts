/** The public API as a page uses it: in the name of its visitor. */
import { API_PREFIX } from '@fitness/shared/http/server.ts';
import { GUEST, type SessionPage, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import { unauthenticated, unavailable } from '@fitness/shared/kernel/error.ts';
import type { Locale } from '@fitness/shared/kernel/i18n/translate.ts';
import type { FastifyRequest } from 'fastify';
import type { Dispatcher } from 'undici';
import type { Dependencies } from '../dependencies.ts';
import { assertAudience } from '../request/bearer.ts';
import { type ApiAnswer, type ApiCall, callApi, callInternal } from '../request/call-api.ts';
import { lostAnswer } from '../request/lost-answer.ts';
import { internalHeaders, prepareForward } from '../request/proxy.ts';
import type { Service } from '../request/routes.ts';
import type { Visit } from './visit.ts';

/** A request of a page. */
export interface Asking {
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

/** What the API has refused, in the language of the page. */
export interface Problem {
  status: number;
  /** Undefined where the fields say it. */
  text: string | undefined;
  /** Messages by the name of the API's field. */
  fields: Readonly<Record<string, readonly string[]>>;
}

type CallDependencies = Parameters<typeof callApi>[2];

const dependenciesOf = ({ dependencies }: Asking, visit: Visit): CallDependencies => ({
  ...dependencies,
  agent: dependencies.agents.ordinary,
  authenticate: async () => {
    if (visit.kind === 'guest') return GUEST;
    const caller = await dependencies.callerOf(visit.token);
    assertAudience(caller, dependencies.baseUrl, API_PREFIX);
    return caller;
  },
});

const unlessOver = (answer: ApiAnswer): ApiAnswer => {
  if (answer.status === 401) throw unauthenticated();
  return answer;
};

/** Throws 401 for a visit whose token is not valid any more. */
export const call = async (asking: Asking, visit: Visit, apiCall: ApiCall): Promise<ApiAnswer> =>
  unlessOver(await callApi(apiCall, asking.request, dependenciesOf(asking, visit)));

/** An internal route of a service. Throws 401 as above. */
export const callOf = async (
  asking: Asking,
  visit: Visit,
  service: Service,
  internal: ApiCall,
): Promise<ApiAnswer> =>
  unlessOver(await callInternal(service, internal, asking.request, dependenciesOf(asking, visit)));

interface SessionLimit {
  page: SessionPage;
  seconds: number;
  idleSeconds?: number;
}

/** Ends the session of a visit early, and lets it call what its page calls. Throws 401 for a session that has ended, and 503. */
export const limitSession = async (
  asking: Asking,
  visit: Visit,
  { page, seconds, idleSeconds }: SessionLimit,
): Promise<void> => {
  const body = { page, seconds, ...(idleSeconds === undefined ? {} : { idle_seconds: idleSeconds }) };
  const call = { method: 'POST', path: '/session-limit', body } as const;
  const { status } = await callOf(asking, visit, 'identity', call);
  if (status !== 204) throw unavailable(`the session was not limited: ${status}`);
};

/** Whether the token is a session that this page, and no other one, may have begun. */
export const isSessionOf = ({ tokenKind, page }: UserCaller, own: SessionPage): boolean =>
  tokenKind === 'session' && (page ?? own) === own;

export const endSession = async (asking: Asking, visit: Visit): Promise<void> => {
  await call(asking, visit, { method: 'POST', path: '/auth/logout' });
};

/** `visit` has just signed in: a session that cannot be limited is ended, and no cookie has it. */
export const beginSession = async (asking: Asking, visit: Visit, limit: SessionLimit): Promise<void> => {
  try {
    await limitSession(asking, visit, limit);
  } catch (error) {
    await endSession(asking, visit);
    throw error;
  }
};

/** A file of the public API, which is read as slowly as the browser does. Throws 401 as above. */
export const download = async (
  asking: Asking,
  visit: Visit,
  path: string,
): Promise<Dispatcher.ResponseData> => {
  const { request, dependencies } = asking;
  const forward = await prepareForward(request.raw, `${API_PREFIX}${path}`, dependenciesOf(asking, visit));
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

/** `POST /auth/login` with the fields of the form: 200 has the token of the session. */
export const callLogin = (
  asking: Asking,
  visit: Visit,
  {
    login = '',
    password = '',
    totp = '',
  }: Partial<Record<'login' | 'password' | 'totp', string | undefined>>,
): Promise<ApiAnswer> => {
  const body = { login, password, ...(totp === '' ? {} : { totp }) };
  return call(asking, visit, { method: 'POST', path: '/auth/login', body });
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
