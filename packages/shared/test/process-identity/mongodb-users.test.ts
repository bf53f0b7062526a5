/** The command that creates the users of MongoDB, on a server that refuses to. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type MongoProxy, startMongoProxy } from '../../src/testing/mongo-proxy.ts';
import { mongodbUri } from '../messaging/support.ts';

const CLI = fileURLToPath(
  new URL('../../src/process-identity/provisioning/mongodb-users-cli.ts', import.meta.url),
);
const directory = mkdtempSync(join(tmpdir(), 'mongodb-users-'));
const file = join(directory, 'passwords.json');

let proxy: MongoProxy;
beforeAll(async () => {
  proxy = await startMongoProxy(mongodbUri());
  writeFileSync(file, JSON.stringify({ wallet: 'secret-word' }));
});
afterAll(async () => {
  await proxy.close();
  rmSync(directory, { recursive: true, force: true });
});

const run = async (args: string[], environment: NodeJS.ProcessEnv = {}) => {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, NODE_NO_WARNINGS: '1', ...environment };
  const child = spawn(process.execPath, [CLI, ...args], { env });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { code, stdout, stderr };
};

test.each([
  { code: 8_000, codeName: 'AtlasError', errmsg: 'CMD_NOT_ALLOWED: createRole' },
  {
    code: 13,
    codeName: 'Unauthorized',
    errmsg: 'not authorized on fitness_wallet to execute command { createRole: "appendOnly" }',
  },
])(
  'the command ends with one sentence that names the guide if roles are refused ($codeName)',
  async (error) => {
    proxy.answerAt({ fits: (command) => command === 'createRole', answer: { ok: 0, ...error } });
    expect(await run([file], { MONGODB_URI: proxy.uri })).toEqual({
      code: 1,
      stdout: '',
      stderr: `failed: the database refuses createRole (code ${error.code}): in Atlas the users are made by its API (docs/guides/operators/servers.md), elsewhere MONGODB_URI needs a user with the role userAdminAnyDatabase\n`,
    });
  },
);

test('the command prints the roles and users for the API of Atlas without a server', async () => {
  const { code, stdout } = await run(['--atlas', file], { LEDGER_SEALS_DATABASE: 'seals_elsewhere' });
  const { roles, users } = JSON.parse(stdout);
  expect(code).toBe(0);
  expect(roles).toHaveLength(users.length);
  expect(users).toContainEqual(expect.objectContaining({ username: 'wallet', password: 'secret-word' }));
  expect(JSON.stringify(roles)).toContain('seals_elsewhere');
});

test('the command refuses unknown options and a missing file as wrong usage', async () => {
  expect(await run(['--unknown'])).toMatchObject({ code: 64, stdout: '' });
  expect(await run([], { MONGODB_URI: proxy.uri })).toMatchObject({ code: 64, stdout: '' });
});
