/** Forwards `/api/v1` to the services with the authenticated caller, and `/oauth` to identity. */
import type { Readable } from 'node:stream';
import { OAUTH_PATHS } from '@fitness/contracts/oauth.ts';
import { API_PREFIX } from '@fitness/shared/http/gateway-protocol.ts';
import { isAppError } from '@fitness/shared/kernel/error.ts';
import { runWithTrace } from '@fitness/shared/kernel/trace.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Dispatcher } from 'undici';
import type { Dependencies } from '../dependencies.ts';
import { type AdmitDependencies, admit, limitUploads } from './admit.ts';
import { forwardUpload } from './body.ts';
import { routeIn } from './check-headers.ts';
import { startExchange } from './exchange.ts';
import { answerHeaders, requestHeaders } from './forward-headers.ts';
import { lostAnswer } from './lost-answer.ts';
import { limitReading } from './open-requests.ts';
import { assertStillValid, isOauth, WITHOUT_BODY } from './prepare-forward.ts';
import { type Target, transferOf } from './routes.ts';
import { createUserLimit } from './user-limit.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
/** The paths of OAuth are listed, so that browsers get a page for any other below `/oauth`. */
const FORWARDED = [
  `${API_PREFIX}/*`,
  ...[OAUTH_PATHS.authorize, OAUTH_PATHS.token, OAUTH_PATHS.register, OAUTH_PATHS.revoke],
  ...[`${OAUTH_PATHS.authorize}/:uid`, `${OAUTH_PATHS.interaction}/:uid`],
];
/** An eighth of the default limit for all uploads, so that one user cannot lock out the others. */
export const UPLOADS_PER_USER = 32;
/** nginx's status for a request whose client has disconnected, for metrics and logs only. */
const CLIENT_GONE = 499;

type ProxyDependencies = AdmitDependencies & Pick<Dependencies, 'openRequests' | 'uploadIdleMs'>;

export const addProxy = async (app: FastifyInstance, dependencies: ProxyDependencies): Promise<void> => {
  const enterUpload = createUserLimit(UPLOADS_PER_USER);
  await app.register(async (scope) => {
    scope.decorateRequest('forward', null as never);
    scope.removeAllContentTypeParsers();
    // The handler reads the body.
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    for (const url of FORWARDED) {
      scope.route({
        method: METHODS,
        url,
        exposeHeadRoute: false,
        config: { forwardsBody: true },
        onRequest: async (request, reply) => {
          await admit(request, reply, dependencies);
          if (!reply.sent) limitUploads(request, reply, enterUpload);
        },
        handler: (request, reply) => forward(request, reply, dependencies),
      });
    }
  });
};

const forward = (request: FastifyRequest, reply: FastifyReply, dependencies: ProxyDependencies): void => {
  if (request.body === undefined) {
    exchange(request, reply, dependencies);
  } else if (transferOf(request.forward.target, request.method) === 'uploads') {
    const startedAt = performance.now();
    const check = () => assertStillValid(request, startedAt, dependencies);
    const body = forwardUpload(request.raw, dependencies.uploadIdleMs, check);
    exchange(request, reply, dependencies, body);
  } else {
    readWhileValid(request, dependencies)
      .then((body) => exchange(request, reply, dependencies, body))
      .catch((error: unknown) => reply.send(error));
  }
};

const exchange = (
  request: FastifyRequest,
  reply: FastifyReply,
  { urls, agents, readTimeoutMs }: ProxyDependencies,
  body: Buffer | Readable | null = null,
): void => {
  const { method, forward } = request;
  const { target } = forward;
  const transfer = transferOf(target, method);
  startExchange({
    reply,
    agent: agents[transfer],
    request: {
      origin: urls[target.service],
      path: `${target.path}${target.query}`,
      method: method as Dispatcher.HttpMethod,
      headers: requestHeaders(request, Buffer.isBuffer(body)),
      body,
      idempotent: WITHOUT_BODY.has(method) && !isOauth(target),
    },
    beginAnswer: (status, headers) => {
      if (transfer !== 'downloads') limitReading(reply.raw, readTimeoutMs);
      request.answeredBy = { upstream: target.service, ...routeIn(headers) };
      return answerHeaders(reply, status, headers);
    },
    onLost: (error) => {
      const { traceparent } = request.headers;
      runWithTrace({ traceparent: String(traceparent), requestId: request.id }, () =>
        answerLost(reply, target, error),
      );
    },
  });
};

const readWhileValid = async (request: FastifyRequest, dependencies: ProxyDependencies): Promise<Buffer> => {
  const startedAt = performance.now();
  const body = await dependencies.openRequests.readBody(request.raw);
  await assertStillValid(request, startedAt, dependencies);
  return body;
};

/** Answers a request for which the service gave no response. */
const answerLost = (reply: FastifyReply, { service }: Target, error: Error & { code?: string }): void => {
  if (reply.raw.destroyed) reply.code(CLIENT_GONE).send();
  else reply.send(isAppError(error) ? error : lostAnswer(reply.request.method, service, error));
};
