/** `/mcp`: the Model Context Protocol over streamable HTTP, for clients that act on behalf of a user. */
import { MCP_PATH, READING_SCOPES } from '@fitness/contracts/oauth.ts';
import { toAppError } from '@fitness/shared/http/error-handler.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import {
  AppError,
  forbidden,
  isAppError,
  message,
  methodNotAllowed,
  unauthenticated,
} from '@fitness/shared/kernel/error.ts';
import { negotiateLocale } from '@fitness/shared/kernel/i18n/negotiate.ts';
import { translator } from '@fitness/shared/kernel/i18n/translate.ts';
import type { ApiAnswer } from '@fitness/shared/pages/visitor.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Dependencies } from '../dependencies.ts';
import { assertAudience, metadataParameter, scopeMissing } from '../request/bearer.ts';
import { clientGone } from '../request/body.ts';
import { callApi } from '../request/call-api.ts';
import { clientAddressOf } from '../request/client-address.ts';
import { type CorsOrigins, isAllowedOrigin } from '../request/cors.ts';
import { readBlockers } from '../request/deletion-blockers.ts';
import { TOKEN_CHECK_VALID_MS } from '../request/prepare-forward.ts';
import { createUserLimit } from '../request/user-limit.ts';
import type { McpContext } from './server.ts';
import { type ApiRequest, calledTool, mayUse } from './tools.ts';

declare module 'fastify' {
  interface FastifyRequest {
    mcp: { caller: UserCaller; checkedAt: number };
  }
}

/** Limit for the concurrent POSTs of a user. A POST makes several calls, and their failures open circuit breakers for all. */
export const POSTS_PER_USER = 32;

export const addMcp = async (app: FastifyInstance, dependencies: Dependencies): Promise<void> => {
  const { addressLimit, authenticate, baseUrl, corsOrigins, trustedProxies } = dependencies;
  const challenge = `Bearer ${metadataParameter(baseUrl, MCP_PATH)}, scope="${READING_SCOPES.join(' ')}"`;
  const admit = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    await addressLimit?.(clientAddressOf(request.raw, trustedProxies), reply);
    assertOrigin(request, baseUrl, corsOrigins);
    const caller = await identify(request, reply, authenticate, challenge);
    assertAudience(caller, baseUrl, MCP_PATH);
    if (caller.page !== undefined) throw forbidden(`not with a session of the page ${caller.page}`);
    request.mcp = { caller, checkedAt: performance.now() };
  };
  const enter = createUserLimit(POSTS_PER_USER);
  await app.register(async (scope) => {
    scope.decorateRequest('mcp', null as never);
    scope.route({
      method: 'POST',
      url: MCP_PATH,
      onRequest: admit,
      handler: async (request, reply) => {
        // The place is kept until the work is done, even if the client disconnects.
        const leave = enter(request.mcp.caller.userId);
        try {
          assertScope(request, baseUrl);
          return await send(reply, await answer(request, reply, dependencies));
        } finally {
          leave();
        }
      },
    });
    // There is no GET stream, because tools send only their responses, and no DELETE, because there are no sessions.
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

/** Refuses requests from pages of other origins than the configured ones, against DNS rebinding. */
const assertOrigin = ({ headers }: FastifyRequest, baseUrl: string, allowed: CorsOrigins): void => {
  const { origin } = headers;
  if (origin === undefined || origin === new URL(baseUrl).origin || isAllowedOrigin(allowed, origin)) return;
  throw new AppError({ kind: 'forbidden', code: 'foreign_origin', message: message('error.forbidden') });
};

/** Authenticates the caller. The 401 contains the address of the resource metadata (RFC 9728). */
const identify = async (
  request: FastifyRequest,
  reply: FastifyReply,
  authenticate: Dependencies['authenticate'],
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

/**
 * Throws 403 if an app must request another scope. Batches and other kinds of token get an error per message instead.
 */
const assertScope = ({ body, mcp: { caller } }: FastifyRequest, baseUrl: string): void => {
  const tool = calledTool(body);
  if (tool === undefined || mayUse(caller, tool)) return;
  const needed = tool.needs.find((permission) => caller.grantable?.has(permission));
  if (needed === undefined) return;
  throw scopeMissing([...caller.permissions, needed], baseUrl, MCP_PATH);
};

const answer = async (
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: Dependencies,
): Promise<Response> => {
  const { answerMcp } = await import('./server.ts');
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (typeof value === 'string') headers.set(name, value);
  }
  const mcpRequest = new Request(`${dependencies.baseUrl}${MCP_PATH}`, { method: 'POST', headers });
  return answerMcp(mcpRequest, request.body, createContext(request, reply, dependencies));
};

const createContext = (
  request: FastifyRequest,
  reply: FastifyReply,
  dependencies: Dependencies,
): McpContext => {
  const t = translator(negotiateLocale(request.headers['accept-language']));
  const readCaller = async (): Promise<UserCaller> => {
    // After a disconnect, nobody reads the responses to the rest of a batch.
    if (reply.raw.destroyed) throw clientGone();
    if (performance.now() - request.mcp.checkedAt > TOKEN_CHECK_VALID_MS) {
      const caller = await dependencies.authenticate(request.raw);
      if (caller.kind !== 'user') throw unauthenticated();
      request.mcp = { caller, checkedAt: performance.now() };
    }
    return request.mcp.caller;
  };
  const asCaller = { ...dependencies, authenticate: readCaller };
  return {
    caller: readCaller,
    callApi: (apiRequest) => read(apiRequest, request, asCaller),
    deletionBlockers: async () => {
      const blockers = await readBlockers(dependencies.identity, await readCaller(), t);
      return { can_be_deleted: blockers.length === 0, blockers };
    },
    explain: (error) => t(toAppError(error).publicMessage),
  };
};

const read = (
  { path, query = {} }: ApiRequest,
  request: FastifyRequest,
  dependencies: Dependencies,
): Promise<ApiAnswer> => {
  const parameters = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  );
  const search = parameters.length === 0 ? '' : `?${new URLSearchParams(parameters).toString()}`;
  const call = { method: 'GET', path: `${path}${search}` } as const;
  return callApi(call, request, { ...dependencies, agent: dependencies.agents.tools });
};

const send = async (reply: FastifyReply, response: Response): Promise<FastifyReply> => {
  reply.code(response.status);
  for (const [name, value] of response.headers) reply.header(name, value);
  const body = await response.text();
  return body === '' ? reply.send() : reply.serializer(String).send(body);
};
