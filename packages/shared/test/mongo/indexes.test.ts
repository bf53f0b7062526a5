import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import mongoose from 'mongoose';
import { z } from 'zod';
import { freePorts } from '../../../../scripts/lib/ports.mjs';
import { defineRoute, ok } from '../../src/http/define-route.ts';
import { createLog } from '../../src/kernel/log.ts';
import { type Connection, connectMongo } from '../../src/mongo/connect.ts';
import { createIdempotencyIndexes } from '../../src/mongo/idempotency-claims.ts';
import { ensureModelIndexes } from '../../src/mongo/indexes.ts';
import { createRateLimitIndexes } from '../../src/mongo/rate-limit-windows.ts';
import { createServiceRuntime } from '../../src/runtime/service-runtime.ts';
import { apiClient, dropDatabase, eventually, testConfig, testServers } from '../../src/testing/harness.ts';
import { startMongoProxy } from '../../src/testing/mongo-proxy.ts';

const database = {
  MONGODB_URI: testServers().MONGODB_URI,
  MONGODB_DATABASE: `test_indexes_${randomUUID().slice(0, 8)}`,
};
const connections: Connection[] = [];
let collection = '';

beforeEach(() => {
  collection = `things_${randomUUID().slice(0, 8)}`;
});

afterAll(async () => {
  for (const connection of connections) await connection.close();
  await dropDatabase(database);
});

type Indexes = [mongoose.IndexDefinition, mongoose.IndexOptions][];

/** The model of one release. */
const release = async (indexes: Indexes) => {
  const connection = await connectMongo({ uri: database.MONGODB_URI, database: database.MONGODB_DATABASE });
  connections.push(connection);
  const schema = new mongoose.Schema<{ name: string; state: string }>(
    { name: String, state: String },
    { collection, versionKey: false },
  );
  for (const [fields, options] of indexes) schema.index(fields, options);
  const model = connection.model('Thing', schema);
  return { model, prepare: () => ensureModelIndexes(model as never) };
};

const namesOf = async ({ model }: Awaited<ReturnType<typeof release>>) =>
  (await model.collection.indexes()).map(({ name }) => name).sort();

/** How long any other command may take. */
const ANSWER_MS = 500;

const OPEN = { partialFilterExpression: { state: 'open' } };

describe('the indexes of a new release', () => {
  test('new indexes are created next to those of the older release, which stay for a rollback', async () => {
    await (await release([[{ name: 1 }, {}]])).prepare();
    const next = await release([[{ state: 1 }, {}]]);
    await next.prepare();
    expect(await namesOf(next)).toEqual(['_id_', 'name_1', 'state_1']);
  });

  test('a changed index of the same name is refused, and the stored one stays', async () => {
    const before = await release([[{ name: 1 }, { unique: true }]]);
    await before.prepare();
    for (const change of [{}, OPEN, { unique: true, ...OPEN }]) {
      const next = await release([[{ name: 1 }, change]]);
      await expect(next.prepare()).rejects.toThrow(/name_1 .* another definition.*another name/);
      const [, stored] = await next.model.collection.indexes();
      expect(stored).toMatchObject({ name: 'name_1', unique: true });
      expect(stored).not.toHaveProperty('partialFilterExpression');
    }
  });

  test('new indexes stay, and refuse duplicates, while the older and the newer release restart', async () => {
    const older = await release([[{ name: 1 }, {}]]);
    await older.prepare();
    await older.model.create({ name: 'a', state: 'open' });
    const newer = await release([[{ name: 1 }, { unique: true, name: 'name_1_unique' }]]);
    await newer.prepare();
    for (let restart = 0; restart < 3; restart += 1) {
      await Promise.all([older.prepare(), (await release([[{ name: 1 }, {}]])).prepare(), newer.prepare()]);
      await expect(older.model.create({ name: 'a', state: 'shut' })).rejects.toMatchObject({ code: 11_000 });
      expect(await namesOf(newer)).toEqual(['_id_', 'name_1', 'name_1_unique']);
    }
    expect(await newer.model.countDocuments({})).toBe(1);
  });

  test('a new index is refused if stored documents violate it', async () => {
    const before = await release([[{ name: 1 }, {}]]);
    await before.prepare();
    await before.model.create([
      { name: 'a', state: 'open' },
      { name: 'a', state: 'open' },
    ]);
    const unique = await release([[{ name: 1 }, { unique: true, name: 'name_1_unique' }]]);
    await expect(unique.prepare()).rejects.toMatchObject({ code: 11_000 });
  });
});

describe('an index that takes long', () => {
  test('an index build does not wait for an absent member: it needs a majority', async () => {
    const { model, prepare } = await release([[{ name: 1 }, {}]]);
    const builds: unknown[] = [];
    const uri = `${database.MONGODB_URI}&monitorCommands=true`;
    const connection = await connectMongo({ uri, database: database.MONGODB_DATABASE });
    connections.push(connection);
    connection.getClient().on('commandStarted', ({ commandName, command }) => {
      if (commandName === 'createIndexes') builds.push(command.commitQuorum);
    });
    await ensureModelIndexes(connection.model('Thing', model.schema) as never);
    await prepare();
    await createRateLimitIndexes(connection);
    await createIdempotencyIndexes(connection);
    expect(builds.length).toBeGreaterThan(3);
    expect(new Set(builds)).toEqual(new Set(['majority']));
  });

  test('a slow index build is logged and delays listening; then the process is ready', async () => {
    const config = testConfig('wallet');
    const proxy = await startMongoProxy(config.MONGODB_URI);
    const lines: Record<string, unknown>[] = [];
    const log = createLog({
      service: 'wallet',
      level: 'warn',
      destination: { write: (line: string) => void lines.push(JSON.parse(line)) },
    });
    const [port = 0] = await freePorts(1);
    const runtime = await createServiceRuntime(
      'wallet',
      { ...config, MONGODB_URI: `${proxy.uri}&socketTimeoutMS=${ANSWER_MS}`, HTTP_PORT: port },
      { log, indexNoticeMs: 50 },
    );
    const build = proxy.holdAt((command, name) => command === 'createIndexes' && name === 'inbox');
    const route = defineRoute({
      method: 'GET',
      path: '/notes',
      summary: 'notes',
      tag: 'test',
      access: 'guest',
      responses: { 200: z.object({}) },
      handle: async () => ok({}),
    });
    const starting = runtime.serve({ routes: [route], grpc: [], consumers: [] });
    await build;
    await setTimeout(2 * ANSWER_MS);
    const statusOf = async (path: string): Promise<number> =>
      (await fetch(`http://127.0.0.1:${port}${path}`)).status;
    // A request that reached it could only fail, while another replica would serve it.
    await expect(statusOf('/notes')).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } });
    await eventually(() =>
      lines.some(({ collection, index }) => collection === 'inbox' && index === 'consumer_1_eventId_1'),
    );
    proxy.restore();
    const service = await starting;
    expect(await statusOf('/health/ready')).toBe(200);
    expect((await apiClient('wallet', service.url)('GET', '/notes')).status).toBe(200);
    await service.close();
    await proxy.close();
    await dropDatabase(config);
  });
});
