/** Calls of the public API that the gateway makes for a client: by `/mcp`, and by the page that deletes an account. */
import { API_PREFIX } from '@fitness/shared/http/server.ts';
import type { FastifyRequest } from 'fastify';
import type { Agent, Dispatcher } from 'undici';
import type { Dependencies } from './dependencies.ts';
import { lostAnswer } from './lost-answer.ts';
import { internalHeaders, prepareForward } from './proxy.ts';

export interface ApiCall {
  method: 'GET' | 'POST' | 'DELETE';
  /** Below the API's prefix, with the query. */
  path: string;
  body?: object | undefined;
}

export interface ApiAnswer {
  status: number;
  headers: Dispatcher.ResponseData['headers'];
  /** Empty where the answer has no body. */
  body: Record<string, unknown>;
}

type CallDependencies = Pick<
  Dependencies,
  'authenticate' | 'serviceTimeoutMs' | 'signer' | 'trustedProxies' | 'urls'
> & { agent: Agent };

/** Headers of the request that the resulting call has too. */
const FORWARDED_HEADERS = ['accept-language', 'traceparent', 'user-agent'] as const;

/** Like a call from outside: the same permissions and limits. Throws 401, and 503 when no service answers. */
export const callApi = async (
  { method, path, body }: ApiCall,
  request: FastifyRequest,
  { agent, urls, ...dependencies }: CallDependencies,
): Promise<ApiAnswer> => {
  const forward = await prepareForward(request.raw, `${API_PREFIX}${path}`, dependencies);
  const { service, path: target, query } = forward.target;
  const forwarded = FORWARDED_HEADERS.flatMap((name) => {
    const value = request.headers[name];
    return value === undefined ? [] : [[name, value]];
  });
  try {
    const answer = await agent.request({
      origin: urls[service],
      path: `${target}${query}`,
      method,
      headers: {
        ...Object.fromEntries(forwarded),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...internalHeaders(request.id, forward),
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.body.text();
    return {
      status: answer.statusCode,
      headers: answer.headers,
      body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
    };
  } catch (error) {
    throw lostAnswer(method, service, error as Error);
  }
};
