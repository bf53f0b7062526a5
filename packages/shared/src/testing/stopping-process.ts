/** A service for tests of how a process stops. Its configuration is in CONFIG. */
import { z } from 'zod';
import { defineRoute, ok } from '../http/define-route.ts';
import { runProcess } from '../runtime/lifecycle.ts';
import { createServiceRuntime } from '../runtime/service-runtime.ts';

const { service, ...config } = JSON.parse(process.env.CONFIG ?? '{}');
const pid = z.object({ pid: z.int() });
const common = { tag: 'test', access: 'guest', responses: { 200: pid } } as const;
const answer = ok({ pid: process.pid });

await runProcess(async () => {
  const runtime = await createServiceRuntime(service, config);
  const path = service === 'media' ? '/media' : '/payments';
  return runtime.serve({
    routes: [
      defineRoute({ ...common, method: 'GET', path, summary: 'Read', handle: async () => answer }),
      defineRoute({
        ...common,
        method: 'POST',
        path,
        summary: 'Write',
        rawBody: true,
        bodyLimitBytes: 1_000_000,
        handle: async ({ request }) => {
          for await (const _ of request.raw) void 0;
          return answer;
        },
      }),
    ],
    grpc: [],
    consumers: [],
    prepareHttp: async (app) => {
      app.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    },
  });
});
