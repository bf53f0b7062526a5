/** Lets the service check the headers of a request before its body is read (docs/adr/0031). */
import type { IncomingHttpHeaders } from 'node:http';
import { CHECK_PREFIX, ROUTE_HEADER } from '@fitness/shared/http/gateway-protocol.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Dispatcher } from 'undici';
import type { Dependencies } from '../dependencies.ts';
import { answerHeaders, headersWithoutBody } from './forward-headers.ts';
import { lostAnswer } from './lost-answer.ts';
import { limitReading } from './open-requests.ts';

const LIMIT_HEADERS = ['x-ratelimit-limit', 'x-ratelimit-remaining'] as const;

export type CheckDependencies = Pick<Dependencies, 'urls' | 'agents' | 'readTimeoutMs'>;

/** The route of the service, for the log. */
export const routeIn = ({ [ROUTE_HEADER]: route }: IncomingHttpHeaders): { route?: string } =>
  typeof route === 'string' ? { route } : {};

/**
 * Sends the service's response to the headers alone if it refuses them (401, 429, 403). A service that cannot check
 * headers alone (an unknown path, an earlier release) receives the whole request.
 */
export const checkHeaders = async (
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: CheckDependencies,
): Promise<void> => {
  const { forward } = request;
  const { status, headers, text } = await requestCheck(request, dependencies);
  if (headers[ROUTE_HEADER] === undefined) return;
  if (status === 204) {
    forward.isChecked = true;
    for (const name of LIMIT_HEADERS) {
      if (headers[name] !== undefined) reply.header(name, headers[name]);
    }
    return;
  }
  limitReading(reply.raw, dependencies.readTimeoutMs);
  request.answeredBy = { upstream: forward.target.service, ...routeIn(headers) };
  const answer = answerHeaders(reply, status, headers);
  reply.hijack();
  reply.raw.writeHead(status, answer).end(text);
};

const requestCheck = async (request: FastifyRequest, { urls, agents }: CheckDependencies) => {
  const { service, path, query } = request.forward.target;
  try {
    const { statusCode, headers, body } = await agents.ordinary.request({
      origin: urls[service],
      path: `${CHECK_PREFIX}${path}${query}`,
      method: request.method as Dispatcher.HttpMethod,
      headers: headersWithoutBody(request),
    });
    return { status: statusCode, headers, text: await body.text() };
  } catch (error) {
    // A check has no effect, so its outcome is never unknown.
    throw lostAnswer('GET', service, error as Error);
  }
};
