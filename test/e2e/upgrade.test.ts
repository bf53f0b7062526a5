/** Runs `upgrade` of each service, as a Job or init container of a release does, beside the running service. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MongoClient } from 'mongodb';
import { root } from '../../scripts/lib/paths.mjs';
import { api, expectStatus, register, stack } from './support.ts';

/** Each service with an index that it needs. */
const SERVICES = [
  ['identity', 'notifications', 'user_id_1__id_-1'],
  ['wallet', 'payments', 'user_id_1__id_1'],
  ['gyms', 'gyms', 'geohash_1'],
  ['content', 'posts', 'profile_key_1__id_1'],
  ['media', 'media', 'uploaded_by_1'],
  ['store-billing', 'subscriptions', 'user_id_1_expires_at_1'],
] as const;

let database: MongoClient;
beforeAll(async () => {
  database = await new MongoClient(stack().describe().servers.MONGODB_URI).connect();
});
afterAll(() => database.close());

const upgrade = (service: string): Promise<{ code: number; output: string }> =>
  new Promise((resolve) => {
    const { environment } = stack().part(service);
    const main = join(root, 'services', service, 'src/main.ts');
    const env = { ...process.env, ...environment, NODE_OPTIONS: '' };
    execFile(process.execPath, [main, 'upgrade'], { env }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), output: out + err }),
    );
  });

test.each(SERVICES)(
  'two concurrent upgrades of %s end with 0 and create the indexes',
  async (service, collection, index) => {
    const { environment } = stack().part(service);
    const stored = database.db(environment.MONGODB_DATABASE ?? '').collection(collection);
    // This index belongs to a later release and must remain.
    await stored.createIndex({ of_a_later_release: 1 });
    await stored.dropIndex(index);
    const runs = await Promise.all([upgrade(service), upgrade(service)]);
    expect(runs.map(({ code, output }) => (code === 0 ? 0 : output))).toEqual([0, 0]);
    const names = (await stored.indexes()).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining([index, 'of_a_later_release_1']));
    await stored.dropIndex('of_a_later_release_1');
    // The service kept serving during the upgrades.
    expect((await fetch(`${stack().part(service).url}/health/ready`)).status).toBe(200);
  },
);

test('an upgrade names an invalid configuration and exits with 78 without affecting the product', async () => {
  const { environment } = stack().part('wallet');
  const main = join(root, 'services/wallet/src/main.ts');
  const env = { ...process.env, ...environment, NODE_OPTIONS: '', MONGODB_URI: 'nonsense' };
  const refused = await new Promise<[unknown, string]>((resolve) =>
    execFile(process.execPath, [main, 'upgrade'], { env }, (error, _out, err) => resolve([error?.code, err])),
  );
  expect(refused).toEqual([78, expect.stringContaining('MONGODB_URI')]);
  const { token } = await register();
  expectStatus(await api('GET', '/payments', { token }), 200);
});
