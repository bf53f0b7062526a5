import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { writeCredentials } from './credentials.ts';
import { PROCESSES } from './processes.ts';

const directory = mkdtempSync(join(tmpdir(), 'credentials-'));
const servers = {
  mongodb: 'mongodb://mongodb-0.data:27017,mongodb-1.data:27017/?replicaSet=rs0',
  redis: 'rediss://redis.data:6380',
  rabbitmq: 'amqps://rabbitmq.data:5671',
};
const write = () => writeCredentials({ directory, namespace: 'fitness', servers });

/** Path → content. */
const contents = (): Map<string, string> =>
  new Map(
    readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
      .map((path) => [path.slice(directory.length + 1), readFileSync(path, 'utf8')]),
  );

let first: Map<string, string>;
beforeAll(() => {
  write();
  first = contents();
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** All passwords of a directory are in addresses. */
const passwords = (files: Map<string, string>): string[] =>
  [...files.values()].flatMap((content) => /^[a-z]+:\/\/[\w-]+:(\w+)@/.exec(content)?.[1] ?? []);

describe('the credentials', () => {
  test('the credentials are a directory for each process, with its variables', () => {
    const files = [...first.keys()];
    for (const { name, database, hasEvents } of PROCESSES) {
      const variables = [
        ...(database === undefined ? [] : ['MONGODB_URI']),
        ...(hasEvents ? ['AMQP_URL'] : []),
        'REDIS_URL',
      ];
      const own = files
        .filter((file) => file.startsWith(`${name}/`))
        .map((file) => file.slice(name.length + 1));
      expect(own.sort()).toEqual(variables.sort());
    }
  });

  test('the credentials are addresses of the servers, with the database of the user', () => {
    expect(first.get('store-billing/MONGODB_URI')).toMatch(
      /^mongodb:\/\/store-billing:\w{48}@mongodb-0\.data:27017,mongodb-1\.data:27017\/\?replicaSet=rs0&authSource=fitness_store_billing$/,
    );
    expect(first.get('gateway/REDIS_URL')).toMatch(/^rediss:\/\/gateway:\w{48}@redis\.data:6380$/);
    expect(first.get('operator/AMQP_URL')).toMatch(/^amqps:\/\/operator:\w{48}@rabbitmq\.data:5671$/);
  });

  test('each user of each server has its own password, which only the file of MongoDB contains', () => {
    const all = passwords(first);
    expect(all.length).toBeGreaterThan(PROCESSES.length * 2);
    expect(new Set(all).size).toBe(all.length);
    const files = `${first.get('redis/users.acl')}${first.get('rabbitmq/definitions.json')}`;
    expect(all.filter((password) => files.includes(password))).toEqual([]);
  });

  test('the credentials are readable by their owner only', () => {
    const open = [...first.keys()].filter((file) => (statSync(join(directory, file)).mode & 0o777) !== 0o400);
    expect(open).toEqual([]);
    const directories = readdirSync(directory).map((name) => statSync(join(directory, name)).mode & 0o777);
    expect(new Set(directories)).toEqual(new Set([0o700]));
  });

  test('existing credentials stay, and only a deleted one gets a new password', () => {
    // The hash in the definitions has a salt.
    const withoutDefinitions = (files: Map<string, string>) =>
      [...files].filter(([file]) => file !== 'rabbitmq/definitions.json');
    write();
    expect(withoutDefinitions(contents())).toEqual(withoutDefinitions(first));
    rmSync(join(directory, 'gyms/REDIS_URL'));
    write();
    const changed = withoutDefinitions(contents()).filter(([file, content]) => first.get(file) !== content);
    expect(changed.map(([file]) => file).sort()).toEqual(['gyms/REDIS_URL', 'redis/users.acl']);
  });
});

test.each([
  ['amqp://broker', '/'],
  ['amqp://broker:5672/', '/'],
  ['amqps://broker/%2F', '/'],
  ['amqps://broker/fitness-eu', 'fitness-eu'],
])('the definitions are those of the virtual host in the address %s: %s', (rabbitmq, vhost) => {
  const own = mkdtempSync(join(tmpdir(), 'credentials-vhost-'));
  try {
    writeCredentials({ directory: own, namespace: 'fitness', servers: { ...servers, rabbitmq } });
    const definitions = JSON.parse(readFileSync(join(own, 'rabbitmq/definitions.json'), 'utf8'));
    expect(definitions.vhosts).toEqual([{ name: vhost }]);
    const [, path = ''] = /@([^/]+.*)$/.exec(readFileSync(join(own, 'gyms/AMQP_URL'), 'utf8')) ?? [];
    expect(`//${path}`).toBe(rabbitmq.replace(/^amqps?:/, ''));
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
});

test.each([
  ['mongodb+srv://cluster0.abcde.mongodb.net/?authSource=admin', '/?authSource=admin'],
  [
    'mongodb+srv://cluster0.abcde.mongodb.net/?retryWrites=true&authSource=admin',
    '/?retryWrites=true&authSource=admin',
  ],
  ['mongodb+srv://cluster0.abcde.mongodb.net', '/?authSource=fitness_media'],
  ['mongodb+srv://cluster0.abcde.mongodb.net/', '/?authSource=fitness_media'],
  ['mongodb+srv://cluster0.abcde.mongodb.net/fitness', '/fitness?authSource=fitness_media'],
])('the address %s keeps what it says', (mongodb, end) => {
  const elsewhere = mkdtempSync(join(tmpdir(), 'credentials-'));
  writeCredentials({ directory: elsewhere, namespace: 'fitness', servers: { ...servers, mongodb } });
  const addressOf = (user: string) => readFileSync(join(elsewhere, user, 'MONGODB_URI'), 'utf8');
  const first = addressOf('media');
  expect(first).toMatch(/^mongodb\+srv:\/\/media:\w{48}@cluster0\.abcde\.mongodb\.net\//);
  expect(first.slice(first.indexOf('.net') + '.net'.length)).toBe(end);
  writeCredentials({ directory: elsewhere, namespace: 'fitness', servers: { ...servers, mongodb } });
  expect(addressOf('media')).toBe(first);
  rmSync(elsewhere, { recursive: true, force: true });
});

const cli = fileURLToPath(new URL('credentials-cli.ts', import.meta.url));
const { PATH } = process.env;

test('the command refuses an address with a user', () => {
  const elsewhere = join(directory, 'elsewhere');
  const address = 'mongodb+srv://<db_username>:<db_password>@cluster0.abcde.mongodb.net/?authSource=admin';
  const { status, stderr } = spawnSync(process.execPath, [cli, elsewhere, '--mongodb', address], {
    env: { PATH, NODE_NO_WARNINGS: '1' },
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({
    status: 64,
    stderr: expect.stringContaining('addresses without a user'),
  });
  expect(existsSync(elsewhere)).toBe(false);
});

test('the command refuses an address that would be the same for all processes', () => {
  const { status, stderr } = spawnSync(process.execPath, [cli, directory], {
    env: { PATH, NODE_NO_WARNINGS: '1', AMQP_URL: 'amqp://fitness:secret-word@rabbitmq:5672' },
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({
    status: 78,
    stderr: 'Wrong configuration: AMQP_URL: each process has its own, such as IDENTITY_AMQP_URL\n',
  });
});

test('a failure of the command is explained without a stack', () => {
  const { status, stderr } = spawnSync(process.execPath, [cli, '/dev/null/credentials'], {
    env: { PATH, NODE_NO_WARNINGS: '1' },
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringMatching(/^failed: ENOTDIR: .*\n$/) });
});
