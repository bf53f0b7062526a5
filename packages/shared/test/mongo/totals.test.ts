/** After a crash, the document count that the database stores for a collection may stay wrong. Totals must not depend on it. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createLog } from '../../src/kernel/log.ts';
import { inTransaction } from '../../src/mongo/transaction.ts';
import type { RunningService } from '../../src/runtime/serve.ts';
import { createServiceRuntime, type ServiceRuntime } from '../../src/runtime/service-runtime.ts';
import { caller, dropDatabase, gatewayContext, testConfig } from '../../src/testing/harness.ts';
import { type MongoProxy, startMongoProxy } from '../../src/testing/mongo-proxy.ts';

const config = testConfig('wallet');
const WRONG = 999;
let proxy: MongoProxy;
let runtime: ServiceRuntime;
let service: RunningService;

beforeAll(async () => {
  proxy = await startMongoProxy(config.MONGODB_URI);
  const log = createLog({ service: 'wallet', level: 'silent' });
  runtime = await createServiceRuntime('wallet', { ...config, MONGODB_URI: proxy.uri }, { log });
  service = await runtime.serve({ routes: [], grpc: [], consumers: [] });
  // This command reads the stored count; all other counts are aggregates.
  proxy.answerAt({ fits: (command) => command === 'count', answer: { ok: 1, n: WRONG } });
});

afterAll(async () => {
  proxy.restore();
  await service.close();
  await proxy.close();
  await dropDatabase(config);
});

test('the number of waiting events in `/ops` does not rely on the stored count', async () => {
  const response = await fetch(`${service.url}/internal/operations`, {
    headers: { 'x-caller-context': gatewayContext('wallet', caller(5, ['operations.manage'])) },
  });
  const { outbox } = (await response.json()) as { outbox: { waiting: number } };
  expect(outbox.waiting).toBe(0);
});

test('the total of the audit log does not rely on the stored count', async () => {
  await inTransaction(runtime.connection, (session) =>
    runtime.audit.record(session, { actorId: 5, action: 'user.update', subject: { type: 'user', id: 7 } }),
  );
  expect(await runtime.audit.count({})).toBe(1);
});
