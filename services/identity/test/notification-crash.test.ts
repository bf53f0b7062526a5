/** Notifications of a process that is killed between commit and delivery, with the sandbox's Firebase and relay. */
import { fileURLToPath } from 'node:url';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { type Connection, connectMongo } from '@fitness/shared/mongo/connect.ts';
import { type CrashTestProcess, startCrashTestProcess } from '@fitness/shared/testing/crash.ts';
import {
  apiClient,
  caller,
  dropDatabase,
  dropQueues,
  eventually,
  type Send,
} from '@fitness/shared/testing/harness.ts';
import { startTcpProxy, type TcpProxy } from '@fitness/shared/testing/tcp-proxy.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { productEnvironment } from '../../../sandbox/src/providers/index.ts';
import { type Sandbox, startSandbox } from '../../../sandbox/src/service.ts';
import type { IdentityConfig } from '../src/config.ts';
import { identityConfig, newAddress, registration } from './support.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

let sandbox: Sandbox;
let broker: TcpProxy;
let config: IdentityConfig;
let database: Connection;
let running: CrashTestProcess;
let send: Send;

const start = async (): Promise<void> => {
  running = startCrashTestProcess(MAIN, { ...config, LOG_LEVEL: 'info' });
  send = apiClient('identity', await running.url());
};

beforeAll(async () => {
  sandbox = await startSandbox();
  broker = await startTcpProxy(identityConfig().AMQP_URL);
  config = identityConfig({
    ...productEnvironment(sandbox.url, sandbox.smtpPort),
    AMQP_URL: broker.uri,
  });
  database = await connectMongo({ uri: config.MONGODB_URI, database: config.MONGODB_DATABASE });
  await start();
});
afterAll(async () => {
  await running.kill();
  await database.close();
  await dropDatabase(config);
  await dropQueues(config, 'identity', ['sms.send']);
  await broker.close();
  await sandbox.close();
});

interface Member {
  as: UserCaller;
  pushToken: string;
  email: string;
  password: string;
}

let members = 0;

const join = async (): Promise<Member> => {
  members += 1;
  const body = registration();
  const registered = await send('POST', '/auth/register', { body, headers: newAddress() });
  expect(registered.status).toBe(201);
  const { id, email } = registered.body.user;
  const session = await database.collection('tokens').findOne({ user_id: id });
  const as = { ...caller(id), tokenId: String(session?._id) };
  const pushToken = `device-token-of-a-crash-test-${members}`;
  const device = { token: pushToken, platform: 'android', locale: 'en' };
  expect((await send('POST', '/notifications/devices', { as, body: device })).status).toBe(201);
  return { as, pushToken, email, password: String(body.password) };
};

/** Creates one notification, a security alert. */
const changePassword = async (member: Member): Promise<void> => {
  const password = `${member.password} again`;
  const body = { current_password: member.password, password, password_confirmation: password };
  const answer = await send('PUT', '/auth/change-password', { as: member.as, body });
  expect([answer.status, answer.body?.errors]).toEqual([expect.any(Number), undefined]);
  expect(answer.status).toBeLessThan(300);
  member.password = password;
};

const read = async <Row>(path: string): Promise<Row[]> => {
  const answer = await fetch(`${sandbox.url}/_sandbox/${path}`);
  return ((await answer.json()) as { data: Row[] }).data;
};
/** Tags of the messages that were accepted for the device, newest first. Equal tags replace each other. */
const tags = async ({ pushToken }: Member): Promise<string[]> =>
  (await read<{ tag: string }>(`push?token=${pushToken}`)).map(({ tag }) => tag);
const messageIds = async ({ email }: Member): Promise<string[]> =>
  (await read<{ message_id: string }>(`emails?to=${encodeURIComponent(email)}`)).map(
    ({ message_id }) => message_id,
  );

const setMode = async (path: string, body: { mode: 'ok' | 'unanswered' } & Record<string, string>) => {
  const answer = await fetch(`${sandbox.url}/_sandbox/${path}/mode`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(200);
};

const arrived = (member: Member, count: number): Promise<unknown> =>
  eventually(async () => (await tags(member)).length >= count && (await messageIds(member)).length >= count);

test('a committed notification arrives exactly once, and an unanswered one is repeated with its tag and Message-ID', async () => {
  const [withPush, withEmail, unpublished] = [await join(), await join(), await join()];
  const unanswered = (mode: 'ok' | 'unanswered') =>
    Promise.all([
      setMode('push', { mode, token: withPush.pushToken }),
      setMode('emails', { mode, to: withEmail.email }),
    ]);
  await unanswered('unanswered');
  await changePassword(withPush);
  await changePassword(withEmail);
  await eventually(async () => (await tags(withPush)).length === 1);
  await arrived(withEmail, 1);
  broker.hold();
  await changePassword(unpublished);
  const requested = { type: /^identity\.notification\./ };
  expect(await database.collection('outbox').countDocuments(requested)).toBe(2);
  await running.kill();
  // The lease of the killed process has expired.
  await database.collection('relay_leases').updateMany({}, { $set: { until: new Date(0) } });
  await unanswered('ok');
  broker.restore();
  await start();
  await arrived(unpublished, 1);
  // The second notification shows that the first is not repeated.
  await changePassword(unpublished);
  await arrived(unpublished, 2);
  for (const ids of [await tags(unpublished), await messageIds(unpublished)])
    expect([ids.length, new Set(ids).size]).toEqual([2, 2]);
  await eventually(
    async () => (await tags(withPush)).length >= 2 && (await messageIds(withEmail)).length >= 2,
  );
  for (const ids of [await tags(withPush), await messageIds(withEmail)]) expect(new Set(ids).size).toBe(1);
});
