/** Server users (process-identity/provisioning) follow from what the processes read and do. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EVENTS } from '@fitness/proto/events/catalogue.ts';
import { eventPrefix } from '@fitness/shared/messaging/topology.ts';
import { writeCredentials } from '@fitness/shared/process-identity/provisioning/credentials.ts';
import { mongodbRoles, mongodbUsers } from '@fitness/shared/process-identity/provisioning/mongodb.ts';
import { PROCESSES } from '@fitness/shared/process-identity/provisioning/processes.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { loadConfigurations, owners, type Variable } from './configurations.ts';
import { composeServices, nameOf } from './deployments.ts';
import { files, productSources, read, SERVICES } from './support.ts';

let variables: readonly Variable[] = [];
beforeAll(async () => {
  ({ variables } = await loadConfigurations());
});

const defaultOf = (owner: string, name: string): unknown =>
  variables
    .find((variable) => variable.reader === owner && variable.name === name)
    ?.field.safeParse(undefined).data;

test('the needs of every process are listed', () => {
  expect(PROCESSES.map(({ name }) => name).sort()).toEqual(owners.map(nameOf).sort());
});

describe.each(owners)('%s', (owner) => {
  const needs = PROCESSES.find(({ name }) => name === nameOf(owner));
  const sources = productSources.filter((file) => file.startsWith(`${owner}/src/`)).map(read);

  test('a process has a database and events if it reads their addresses', () => {
    expect(needs?.database).toBe(defaultOf(owner, 'MONGODB_DATABASE'));
    expect(needs?.hasEvents).toBe(defaultOf(owner, 'AMQP_URL') !== undefined);
  });

  test('a process compares idempotency keys with other services if its routes accept them', () => {
    const takesKeys = sources.some((text) => /\bidempotent: true\b/.test(text));
    expect(needs?.redis.includes('idempotency')).toBe(takesKeys);
  });

  test('a process locks scores if it computes them', () => {
    const locksScores = sources.some((text) => /\bcreateScoreLocks\(/.test(text));
    expect(needs?.redis.includes('score-locks')).toBe(locksScores);
  });

  test('a process reaches the credential epochs if it advances or reads them', () => {
    const uses = sources.some((text) => /\bepochKey\(/.test(text));
    const expected = uses ? [owner === 'gateway' ? 'credential-cache' : 'revocations'] : [];
    const granted = needs?.redis.filter((use) => use === 'credential-cache' || use === 'revocations');
    expect(granted).toEqual(expected);
  });

  test('a process has the commands that it sends or serves', () => {
    const usesCommands = sources.some((text) => /\b(?:serveRpc|createRpcClient)\b/.test(text));
    expect((needs?.commands.length ?? 0) > 0).toBe(usesCommands);
    const named = (needs?.commands ?? []).filter((command) =>
      sources.some((text) => text.includes(`name: '${command}'`)),
    );
    expect(needs?.commands).toEqual(named);
  });
});

test('the type of each event begins with its producer', async () => {
  const types: string[] = [];
  for (const service of SERVICES) {
    const events = (await import(`../../proto/events/${service}.ts`)) as Record<string, { type: string }>;
    const own = Object.values(events).map(({ type }) => type);
    expect(own.filter((type) => !type.startsWith(eventPrefix(service)))).toEqual([]);
    types.push(...own);
  }
  expect(types.sort()).toEqual(EVENTS.map(({ type }) => type).sort());
});

describe('docker-compose.yml', () => {
  const MOUNT = '/run/credentials/';
  const directory = mkdtempSync(join(tmpdir(), 'compose-credentials-'));
  const compose = composeServices();
  const volumesOf = (container: string): string[] => compose[container]?.volumes ?? [];
  beforeAll(() => {
    const servers = { mongodb: 'mongodb://mongodb', redis: 'redis://redis', rabbitmq: 'amqp://rabbitmq' };
    writeCredentials({ directory, namespace: 'fitness', servers });
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  test('Compose has a volume for each directory of credentials', () => {
    const volumes = readdirSync(directory).map((name) => `credentials-${name}:/data/credentials/${name}`);
    expect(volumesOf('credentials').toSorted()).toEqual(volumes.toSorted());
  });

  test('Compose gives each container the files that it names', () => {
    const missing: string[] = [];
    let named = 0;
    for (const [container, definition] of Object.entries(compose)) {
      const volume = volumesOf(container).find((mounted) => mounted.includes(`:${MOUNT.slice(0, -1)}`));
      const own = volume?.replace(/^credentials-/, '').replace(/:.*/, '') ?? 'no volume';
      // The broker's configuration names the definitions file.
      const mounted = volumesOf(container).map((volume) => volume.replace(/^\.\/|:.*/g, ''));
      const texts = [
        JSON.stringify(definition),
        ...mounted.filter((path) => files.includes(path)).map((file) => read(file)),
      ];
      for (const [, file = ''] of texts.join('\n').matchAll(/\/run\/credentials\/([\w.]+)/g)) {
        named += 1;
        if (!existsSync(join(directory, own, file))) missing.push(`${container}: ${file}`);
      }
    }
    expect(missing).toEqual([]);
    expect(named).toBeGreaterThan(PROCESSES.length * 2);
  });
});

test('a MongoDB user reaches the database that its container names, and appends to its seals', () => {
  const compose = composeServices();
  for (const service of SERVICES) {
    const database = compose[service]?.environment?.MONGODB_DATABASE;
    const user = mongodbUsers().find(({ name }) => name === service);
    const seals = [`${database}_audit_seals`, ...(service === 'wallet' ? [`${database}_seals`] : [])];
    expect(user).toEqual({
      name: service,
      db: database,
      roles: [{ role: 'readWrite', db: database }, ...seals.map((db) => ({ role: 'appendOnly', db }))],
    });
  }
});

test('operator commands read the ledger and all seals, but no audit log keys', () => {
  const operator = mongodbUsers().find(({ name }) => name === 'operator');
  const ofServer = operator?.roles.filter(({ role }) => role === 'read').map(({ db }) => db) ?? [];
  expect(ofServer.filter((db) => !db.endsWith('_seals'))).toEqual([]);
  expect(ofServer).toHaveLength(SERVICES.length + 1);
  const own = mongodbRoles().filter(({ name, db }) =>
    operator?.roles.some((granted) => granted.role === name && granted.db === db),
  );
  const readable = own.flatMap(({ privileges }) =>
    privileges.flatMap(({ resource, actions }) => (actions.includes('find') ? [resource.collection] : [])),
  );
  expect([...new Set(readable)].sort()).toEqual([
    'audit_entries',
    'audit_results',
    'audit_sequences',
    'ledger_entries',
    'outbox',
    'payments',
    'wallets',
  ]);
});

test('operator commands add audit log entries and change only counters and results of audits', () => {
  const audits = mongodbRoles().filter(({ name }) => name === 'audit');
  expect(audits).toHaveLength(SERVICES.length);
  for (const { privileges } of audits) {
    const allowing = (action: string): string[] =>
      privileges.flatMap(({ resource, actions }) => (actions.includes(action) ? [resource.collection] : []));
    expect({
      insert: allowing('insert'),
      update: allowing('update'),
      remove: allowing('remove'),
    }).toEqual({
      insert: ['audit_entries', 'audit_sequences', 'audit_results'],
      update: ['audit_sequences', 'audit_results'],
      remove: [],
    });
  }
});
