/** Calls of the API on behalf of the visitor of a page, and the session of the visitor. */
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SessionPage, UserCaller } from '../kernel/caller.ts';
import type { Clock, Random } from '../kernel/clock.ts';
import { unauthenticated, unavailable } from '../kernel/error.ts';
import type { Locale } from '../kernel/i18n/translate.ts';
import type { Visit } from './visit.ts';

export interface ApiCall {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The path below the API's prefix, with the query. */
  path: string;
  body?: object | undefined;
}

export interface ApiAnswer {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Empty if the response has no body. */
  body: Record<string, unknown>;
}

export interface Download extends Pick<ApiAnswer, 'headers'> {
  statusCode: number;
  body: Readable & { dump(): Promise<void> };
}

/** How a page calls the API as its visitor. Every call throws 503 if the service does not respond. */
export interface VisitorApi {
  call(request: FastifyRequest, visit: Visit, call: ApiCall): Promise<ApiAnswer>;
  /** Calls an internal route of a service. The path is below the prefix of these routes. */
  callService(request: FastifyRequest, visit: Visit, service: string, call: ApiCall): Promise<ApiAnswer>;
  /** Streams a file of the public API at the speed of the browser. */
  download(request: FastifyRequest, visit: Visit, path: string): Promise<Download>;
}

/** What the pages with forms need of the process that serves them. */
export interface PageDependencies {
  api: VisitorApi;
  /** Throws 401 if the token is no longer valid. */
  callerOf(token: string): Promise<UserCaller>;
  /** Throws 429 if the address of the client has made too many requests. */
  limitAddress(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  readForm(payload: IncomingMessage): Promise<Buffer>;
  baseUrl: string;
  clock: Clock;
  random: Random;
}

/** A request for a page, with what is needed to answer it. */
export interface PageContext {
  request: FastifyRequest;
  locale: Locale;
  dependencies: PageDependencies;
}

/** An error of the API, in the language of the page. */
export interface Problem {
  status: number;
  /** Undefined if the messages of the fields explain the problem. */
  text: string | undefined;
  /** Error messages, keyed by API field. */
  fields: Readonly<Record<string, readonly string[]>>;
}

const assertAuthenticated = (answer: ApiAnswer): ApiAnswer => {
  if (answer.status === 401) throw unauthenticated();
  return answer;
};

/** Throws 401 if the visitor's token is no longer valid. */
export const call = async (
  { request, dependencies: { api } }: PageContext,
  visit: Visit,
  apiCall: ApiCall,
): Promise<ApiAnswer> => assertAuthenticated(await api.call(request, visit, apiCall));

/** Calls an internal route of a service. Throws 401 if the visitor's token is no longer valid. */
export const callOf = async (
  { request, dependencies: { api } }: PageContext,
  visit: Visit,
  service: string,
  internal: ApiCall,
): Promise<ApiAnswer> => assertAuthenticated(await api.callService(request, visit, service, internal));

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
  const limit = { method: 'POST', path: '/session-limit', body } as const;
  const { status } = await callOf(context, visit, 'identity', limit);
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
