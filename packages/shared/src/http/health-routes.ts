/** Routes that neither the gateway forwards nor the document describes. */
import type { FastifyInstance } from 'fastify';
import type { Health } from '../kernel/health.ts';
import type { Metrics } from '../kernel/metrics.ts';

export const hidden = { schema: { hide: true } };

export const addHealthRoutes = (app: FastifyInstance, health: Health): void => {
  app.get('/health/live', hidden, async () => ({ status: 'live' }));
  app.get('/health/ready', hidden, async (_request, reply) => {
    const readiness = await health.readiness();
    return reply.code(readiness.status === 'ready' ? 200 : 503).send(readiness);
  });
};

/** Adds the route for Prometheus. It must never be on a port that clients reach. */
export const addMetricsRoute = (app: FastifyInstance, metrics: Metrics): void => {
  app.get('/metrics', hidden, async (_request, reply) =>
    reply
      .type(metrics.registry.contentType)
      .serializer(String)
      .send(await metrics.text()),
  );
};
