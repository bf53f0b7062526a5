/** Builds the public API document from the route tables, without a running product. */
import { createServer } from '@fitness/shared/http/server.ts';
import { createHealth } from '@fitness/shared/kernel/health.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { createMetrics } from '@fitness/shared/kernel/metrics.ts';
import { mergeDocuments } from '../../gateway/src/api/openapi-merge.ts';
import { presentDocument } from '../../gateway/src/api/present.ts';
import { anything, loadRouteTables } from '../../test/architecture/route-tables.ts';

/** @import { ApiDocument, ServiceDocument } from '../../gateway/src/api/openapi-merge.ts' */
/** @import { Service } from '../../gateway/src/request/routes.ts' */

/** @param {string} service @param {unknown[]} routes @returns {Promise<ServiceDocument>} */
async function describeService(service, routes) {
  const app = await createServer({
    service,
    routes: /** @type {never[]} */ (routes),
    health: createHealth(),
    metrics: createMetrics(service, { defaults: false }),
    log: createLog({ service, level: 'silent' }),
    uuid: () => '',
    signer: /** @type {never} */ (anything),
    limiter: /** @type {never} */ (anything),
  });
  await app.ready();
  const document = /** @type {unknown} */ (app.swagger());
  await app.close();
  return /** @type {ServiceDocument} */ (document);
}

/** @returns {Promise<ApiDocument>} */
export async function loadApiDocument() {
  /** @type {Map<Service, ServiceDocument>} */
  const documents = new Map();
  for (const [service, routes] of await loadRouteTables())
    documents.set(/** @type {Service} */ (service), await describeService(service, routes));
  return presentDocument(mergeDocuments(documents));
}
