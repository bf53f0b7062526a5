/** Lets local pages call the control routes: an app under development reads its codes there. */
import type { FastifyInstance } from 'fastify';
import { isLoopback } from './hosts.ts';

const MAX_AGE_S = 600;

const isAllowed = (origin: string, apiUrl: string): boolean =>
  origin === apiUrl || (URL.canParse(origin) && isLoopback(new URL(origin).hostname));

/** For the routes of this scope. `apiUrl`: origin of the gateway, whose start page calls them. */
export const allowPages = (app: FastifyInstance, apiUrl: string): void => {
  app.addHook('onRequest', async ({ headers: { origin } }, reply) => {
    reply.header('vary', 'Origin');
    if (origin !== undefined && isAllowed(origin, apiUrl))
      reply.header('access-control-allow-origin', origin);
  });
  app.options('/*', async (_request, reply) =>
    reply
      .code(204)
      .headers({
        'access-control-allow-methods': 'GET, POST, PUT, DELETE',
        'access-control-allow-headers': 'Content-Type',
        'access-control-max-age': MAX_AGE_S,
      })
      .send(),
  );
};
