/** What the gateway passes to its pages with forms: calls of the API as the visitor, and the limits of requests. */
import { API_PREFIX } from '@fitness/shared/http/gateway-protocol.ts';
import { GUEST } from '@fitness/shared/kernel/caller.ts';
import type { Visit } from '@fitness/shared/pages/visit.ts';
import type { PageDependencies, VisitorApi } from '@fitness/shared/pages/visitor.ts';
import type { Dependencies } from '../dependencies.ts';
import { assertAudience } from '../request/bearer.ts';
import { FORM_LIMIT_BYTES } from '../request/body.ts';
import { callApi, callInternal } from '../request/call-api.ts';
import { clientAddressOf } from '../request/client-address.ts';
import { internalHeaders } from '../request/forward-headers.ts';
import { lostAnswer } from '../request/lost-answer.ts';
import { prepareForward } from '../request/prepare-forward.ts';
import type { Service } from '../request/routes.ts';

type CallDependencies = Parameters<typeof callApi>[2];

const createVisitorApi = (dependencies: Dependencies): VisitorApi => {
  const { agents, baseUrl, callerOf, urls } = dependencies;
  const asVisitor = (visit: Visit): CallDependencies => ({
    ...dependencies,
    agent: agents.ordinary,
    authenticate: async () => {
      if (visit.kind === 'guest') return GUEST;
      const caller = await callerOf(visit.token);
      assertAudience(caller, baseUrl, API_PREFIX);
      return caller;
    },
  });
  return {
    call: (request, visit, call) => callApi(call, request, asVisitor(visit)),
    callService: (request, visit, service, call) =>
      callInternal(service as Service, call, request, asVisitor(visit)),
    download: async (request, visit, path) => {
      const forward = await prepareForward(request.raw, `${API_PREFIX}${path}`, asVisitor(visit));
      const { service, path: target, query } = forward.target;
      try {
        return await agents.downloads.request({
          origin: urls[service],
          path: `${target}${query}`,
          method: 'GET',
          headers: internalHeaders(request.id, forward),
        });
      } catch (error) {
        throw lostAnswer('GET', service, error as Error);
      }
    },
  };
};

export const pageDependencies = (dependencies: Dependencies): PageDependencies => {
  const { addressLimit, baseUrl, callerOf, clock, openRequests, random, trustedProxies } = dependencies;
  return {
    api: createVisitorApi(dependencies),
    callerOf,
    limitAddress: async (request, reply) =>
      addressLimit?.(clientAddressOf(request.raw, trustedProxies), reply),
    readForm: (payload) => openRequests.readBody(payload, FORM_LIMIT_BYTES),
    baseUrl,
    clock,
    random,
  };
};
