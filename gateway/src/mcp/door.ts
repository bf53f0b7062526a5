/** `/mcp`: the Model Context Protocol over streamable HTTP, for clients that act in a user's name. */
import type { IdentityDefinition } from '@fitness/proto/gen/fitness/identity/v1/Identity.ts';
import { type BlockerCode, blockerMessageKey } from '@fitness/shared/blocker-catalogue.ts';
import type { UserCaller } from '@fitness/shared/caller.ts';
import {
  AppError,
  isAppError,
  message,
  methodNotAllowed,
  unauthenticated,
  unavailable,
} from '@fitness/shared/error.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import { toAppError } from '@fitness/shared/http/error-handler.ts';
import { API_PREFIX } from '@fitness/shared/http/server.ts';
import { negotiateLocale } from '@fitness/shared/i18n/negotiate.ts';
import { type Translate, translator } from '@fitness/shared/i18n/translate.ts';
import { MCP_PATH, READING_SCOPES } from '@fitness/shared/oauth.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { clientAddressOf } from '../client-address.ts';
import type { Authenticate } from '../introspect.ts';
import { resourceMetadataUrl } from '../oauth-metadata.ts';
import { internalHeaders, type ProxyOptions, prepareForward } from '../proxy.ts';
import type { McpContext } from './server.ts';
import type { ApiRequest } from './tools.ts';

export interface McpDoorOptions extends ProxyOptions {
  baseUrl: string;
  identity: GrpcClient<IdentityDefinition>;
}

declare module 'fastify' {
  interface FastifyRequest {
    mcpCaller: UserCaller;
  }
}

const BLOCKERS_DEADLINE_MS = 5_000;
/** What of a request goes with every call of the API that it leads to. */
const PASSED_ON = ['accept-language', 'traceparent', 'user-agent'] as const;

export const addMcp = async (app: FastifyInstance, options: McpDoorOptions): Promise<void> => {
  const challenge = `Bearer resource_metadata="${resourceMetadataUrl(options.baseUrl, MCP_PATH)}", scope="${READING_SCOPES.join(' ')}"`;
  const admit = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    await options.addressLimit?.(clientAddressOf(request.raw, options.trustedProxies), reply);
    assertOwnOrigin(request, options.baseUrl);
    request.mcpCaller = await identify(request, reply, options.authenticate, challenge);
  };
  await app.register(async (scope) => {
    scope.decorateRequest('mcpCaller', null as never);
    scope.route({
      method: 'POST',
      url: MCP_PATH,
      onRequest: admit,
      handler: async (request, reply) => send(reply, await answer(request, options)),
    });
    // There is no stream to listen to and no session to end: no tool says anything but its answer.
    scope.route({
      method: ['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
      url: MCP_PATH,
      exposeHeadRoute: false,
      onRequest: async (request, reply) => {
        await admit(request, reply);
        throw methodNotAllowed(['POST']);
      },
      handler: async () => undefined,
    });
  });
};

/** A page of another site must not reach this by a name that it has made to point here (DNS rebinding). */
const assertOwnOrigin = ({ headers }: FastifyRequest, baseUrl: string): void => {
  if (headers.origin === undefined || headers.origin === new URL(baseUrl).origin) return;
  throw new AppError({ kind: 'forbidden', code: 'foreign_origin', message: message('error.forbidden') });
};

/** The 401 says where a client learns how to get a token (RFC 9728). */
const identify = async (
  request: FastifyRequest,
  reply: FastifyReply,
  authenticate: Authenticate,
  challenge: string,
): Promise<UserCaller> => {
  try {
    const caller = await authenticate(request.raw);
    if (caller.kind === 'user') return caller;
    reply.header('www-authenticate', challenge);
  } catch (error) {
    if (!isAppError(error) || error.kind !== 'unauthenticated') throw error;
    reply.header('www-authenticate', challenge.replace('Bearer ', 'Bearer error="invalid_token", '));
  }
  throw unauthenticated();
};

const answer = async (request: FastifyRequest, options: McpDoorOptions): Promise<Response> => {
  const { answerMcp } = await import('./server.ts');
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (typeof value === 'string') headers.set(name, value);
  }
  const asked = new Request(`${options.baseUrl}${MCP_PATH}`, { method: 'POST', headers });
  return answerMcp(asked, request.body, createContext(request, options));
};

const createContext = (request: FastifyRequest, options: McpDoorOptions): McpContext => {
  const t = translator(negotiateLocale(request.headers['accept-language']));
  return {
    caller: request.mcpCaller,
    callApi: (asked) => callApi(asked, request, options),
    deletionBlockers: () => readBlockers(options.identity, request.mcpCaller, t),
    explain: (error) => t(toAppError(error).text),
  };
};

/** As any client's call comes in: the same introspection, permissions and limits. */
const callApi = async (
  { path, query = {} }: ApiRequest,
  request: FastifyRequest,
  options: McpDoorOptions,
): ReturnType<McpContext['callApi']> => {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
  const search = given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
  const forward = await prepareForward(request.raw, `${API_PREFIX}${path}${search}`, options);
  const passedOn = PASSED_ON.flatMap((name) => {
    const value = request.headers[name];
    return value === undefined ? [] : [[name, value]];
  });
  const { service } = forward.target;
  try {
    const { statusCode, body } = await options.agent.request({
      origin: options.urls[service],
      path: `${forward.target.path}${forward.target.query}`,
      method: 'GET',
      headers: { ...Object.fromEntries(passedOn), ...internalHeaders(request.id, forward) },
    });
    return { status: statusCode, body: (await body.json()) as Record<string, unknown> };
  } catch (error) {
    throw unavailable(`${service}: ${(error as Error).message}`, error);
  }
};

/** As in the 409 of a deletion that is blocked. */
const readBlockers = async (
  identity: GrpcClient<IdentityDefinition>,
  caller: UserCaller,
  t: Translate,
): Promise<Record<string, unknown>> => {
  const call = { caller, deadlineMs: BLOCKERS_DEADLINE_MS, retry: true };
  const { blockers } = await identity.call('GetDeletionBlockers', {}, call);
  return {
    can_be_deleted: blockers.length === 0,
    blockers: blockers.map(({ code, extras_json }) => {
      const extras: Record<string, string | number> = JSON.parse(extras_json);
      return { code, message: t(message(blockerMessageKey(code as BlockerCode), extras)), ...extras };
    }),
  };
};

const send = async (reply: FastifyReply, response: Response): Promise<FastifyReply> => {
  reply.code(response.status);
  for (const [name, value] of response.headers) reply.header(name, value);
  const body = await response.text();
  return body === '' ? reply.send() : reply.serializer(String).send(body);
};
