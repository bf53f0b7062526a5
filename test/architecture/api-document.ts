/** Builds the public API document from the route tables, without a running product. */
import { createServer } from '@fitness/shared/http/server.ts';
import { createHealth } from '@fitness/shared/kernel/health.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { createMetrics } from '@fitness/shared/kernel/metrics.ts';
import {
  type ApiDocument,
  mergeDocuments,
  type ServiceDocument,
} from '../../gateway/src/api/openapi-merge.ts';
import { presentDocument } from '../../gateway/src/api/present.ts';
import type { Service } from '../../gateway/src/request/routes.ts';
import { anything, loadRouteTables } from './route-tables.ts';

const describeService = async (service: string, routes: never[]): Promise<ServiceDocument> => {
  const app = await createServer({
    service,
    routes,
    health: createHealth(),
    metrics: createMetrics(service, { defaults: false }),
    log: createLog({ service, level: 'silent' }),
    uuid: () => '',
    signer: anything as never,
    limiter: anything as never,
  });
  await app.ready();
  const document = app.swagger() as unknown as ServiceDocument;
  await app.close();
  return document;
};

export const loadApiDocument = async (): Promise<ApiDocument> => {
  const documents = new Map<Service, ServiceDocument>();
  for (const [service, routes] of await loadRouteTables())
    documents.set(service as Service, await describeService(service, routes as never[]));
  return presentDocument(mergeDocuments(documents));
};
