/** `upgrade` of each service, as a Job or an init container of a release runs it, beside the running service. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MongoClient } from 'mongodb';
import { root } from '../../scripts/lib/paths.mjs';
import { api, expectStatus, register, stack } from './support.ts';

/** A service, and an index that it needs. */
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
  'of %s twice at once: both end with 0, and the indexes are there',
  async (service, collection, index) => {
    const { environment } = stack().part(service);
    const stored = database.db(environment.MONGODB_DATABASE ?? '').collection(collection);
    // It belongs to a later release, and stays.
    await stored.createIndex({ of_a_later_release: 1 });
    await stored.dropIndex(index);
    const runs = await Promise.all([upgrade(service), upgrade(service)]);
    expect(runs.map(({ code, output }) => (code === 0 ? 0 : output))).toEqual([0, 0]);
    const names = (await stored.indexes()).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining([index, 'of_a_later_release_1']));
    await stored.dropIndex('of_a_later_release_1');
    // The service has served meanwhile.
    expect((await fetch(`${stack().part(service).url}/health/ready`)).status).toBe(200);
  },
);

test('what cannot be configured is named, with 78; the running product stays as it is', async () => {
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
