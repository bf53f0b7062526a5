/** Calls to services that `/mcp` and the gateway's pages make for a client. */

import { API_PREFIX, INTERNAL_PREFIX } from '@fitness/shared/http/gateway-protocol.ts';
import type { ApiAnswer, ApiCall } from '@fitness/shared/pages/visitor.ts';
import type { FastifyRequest } from 'fastify';
import type { Dispatcher } from 'undici';
import type { Dependencies } from '../dependencies.ts';
import { clientAddressOf } from './client-address.ts';
import { internalHeaders } from './forward-headers.ts';
import { lostAnswer } from './lost-answer.ts';
import { type Forward, prepareForward } from './prepare-forward.ts';
import type { Service } from './routes.ts';

type CallDependencies = Pick<
  Dependencies,
  'authenticate' | 'serviceTimeoutMs' | 'signer' | 'trustedProxies' | 'urls'
> & { agent: Dispatcher };

/** Headers of the client's request that are copied to the call. */
const FORWARDED_HEADERS = ['accept-language', 'traceparent', 'user-agent'] as const;

/** Calls the API with the permissions and limits of the client. Throws 401, and 503 if the service does not respond. */
export const callApi = async (
  call: ApiCall,
  request: FastifyRequest,
  { agent, urls, ...dependencies }: CallDependencies,
): Promise<ApiAnswer> =>
  send(call, request, {
    forward: await prepareForward(request.raw, `${API_PREFIX}${call.path}`, dependencies),
    agent,
    urls,
  });

/** Calls an internal route, which clients cannot reach. The path is below the prefix of these routes. */
export const callInternal = async (
  service: Service,
  call: ApiCall,
  request: FastifyRequest,
  { agent, authenticate, serviceTimeoutMs: timeoutMs, signer, trustedProxies, urls }: CallDependencies,
): Promise<ApiAnswer> => {
  const caller = await authenticate(request.raw);
  const target = { service, path: `${INTERNAL_PREFIX}${call.path}`, query: '' };
  const context = signer.sign(service, caller);
  const clientAddress = clientAddressOf(request.raw, trustedProxies);
  return send(call, request, { forward: { target, caller, context, clientAddress, timeoutMs }, agent, urls });
};

const send = async (
  { method, body }: ApiCall,
  request: FastifyRequest,
  { forward, agent, urls }: Pick<CallDependencies, 'agent' | 'urls'> & { forward: Forward },
): Promise<ApiAnswer> => {
  const { service, path, query } = forward.target;
  const forwarded = FORWARDED_HEADERS.flatMap((name) => {
    const value = request.headers[name];
    return value === undefined ? [] : [[name, value]];
  });
  try {
    const answer = await agent.request({
      origin: urls[service],
      path: `${path}${query}`,
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
