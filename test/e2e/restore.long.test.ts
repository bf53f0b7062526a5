/**
 * `npm start` with separate servers is backed up under load, used, and restored twice to the same backup, first after its disk was lost.
 * Erasures and revocations since the backup persist, and members who cancelled a deletion keep their account. Payments since then at the
 * bank and the store are booked or listed. Both are emulated and keep running, as real ones would. What would lose them is refused.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseEnv } from 'node:util';
import { type Answer, eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MongoClient } from 'mongodb';
import { freePorts } from '../../scripts/lib/ports.mjs';
import { PNG, type SendOptions } from './support.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const SERVICES = ['IDENTITY', 'WALLET', 'GYMS', 'CONTENT', 'MEDIA', 'STORE_BILLING'];
const START = { timeoutMs: 180_000, intervalMs: 100 };
const PASSWORD = 'correct-horse-battery';
/** For the few data of this test, on a busy machine (docs/guides/operators/backup.md). */
const RECOVERY_TIME_MS = 10 * 60_000;

interface Running {
  child: ChildProcess;
  output(): string;
  ended: Promise<number | null>;
}

let directory: string;
let environment: NodeJS.ProcessEnv;
let origin: string;
let sandboxOrigin: string;
const running: Running[] = [];
/** Functions that end the load if a test has failed. */
const loads: (() => void)[] = [];

const run = (script: string, args: readonly string[], env: NodeJS.ProcessEnv = environment): Running => {
  const child = spawn(process.execPath, [script, ...args], {
    cwd: root,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8');
    });
  }
  const started = {
    child,
    output: () => output,
    ended: new Promise<number | null>((resolve) => child.once('close', resolve)),
  };
  running.push(started);
  return started;
};

const finished = async (
  script: string,
  ...args: string[]
): Promise<{ code: number | null; output: string }> => {
  const command = run(script, args);
  const code = await command.ended;
  return { code, output: command.output() };
};

const startProduct = async (): Promise<Running> => {
  const product = run('scripts/start.mjs', []);
  await eventually(() => {
    if (product.child.exitCode !== null) throw new Error(product.output());
    return product.output().includes('Ready after');
  }, START);
  return product;
};

const stop = async ({ child, ended }: Running): Promise<void> => {
  child.kill('SIGINT');
  await ended;
};

const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'restore-'));
  const [sandbox = 0, smtp = 0, gateway = 0, operations = 0, mongodb = 0, redis = 0, rabbitmq = 0, ...ports] =
    await freePorts(10 + SERVICES.length * 2);
  const [distribution = 0, epmd = 0, gatewayGrpc = 0, ...ofServices] = ports;
  sandboxOrigin = `http://127.0.0.1:${sandbox}`;
  origin = `http://127.0.0.1:${gateway}`;
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const base = { PATH, HOME, NODE_COMPILE_CACHE };
  const providers = JSON.parse(
    execFileSync(process.execPath, ['sandbox/src/environment-cli.ts', sandboxOrigin, String(smtp)], {
      cwd: root,
      encoding: 'utf8',
    }),
  );
  environment = {
    ...base,
    ...providers,
    DATA_DIRECTORY: join(directory, 'data'),
    SANDBOX: '0',
    SEED_DEMO: '0',
    // If identity starts too early, members who have cancelled since the backup are erased immediately.
    PURGE_INTERVAL_MS: '1000',
    GATEWAY_HTTP_PORT: String(gateway),
    GATEWAY_GRPC_PORT: String(gatewayGrpc),
    GATEWAY_OPERATIONS_PORT: String(operations),
    MONGODB_PORT: String(mongodb),
    REDIS_PORT: String(redis),
    RABBITMQ_PORT: String(rabbitmq),
    RABBITMQ_DISTRIBUTION_PORT: String(distribution),
    EPMD_PORT: String(epmd),
    ...Object.fromEntries(
      SERVICES.flatMap((name, index) => [
        [`${name}_HTTP_PORT`, String(ofServices[index * 2])],
        [`${name}_GRPC_PORT`, String(ofServices[index * 2 + 1])],
      ]),
    ),
  };
  run('sandbox/src/main.ts', [], {
    ...base,
    HTTP_PORT: String(sandbox),
    PROVIDER_PORT: '0',
    SMTP_PORT: String(smtp),
  });
  await eventually(() => answers(`${sandboxOrigin}/health/live`), START);
});
afterAll(async () => {
  for (const end of loads) end();
  for (const process of running) await stop(process);
  rmSync(directory, { recursive: true, force: true });
});

const send = async (method: string, url: string, { token, body }: SendOptions = {}): Promise<Answer> => {
  const response = await fetch(url, {
    method,
    redirect: 'manual',
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined || body instanceof FormData ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: body instanceof FormData ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson ? JSON.parse(text) : undefined,
  };
};

const api = (method: string, path: string, options?: SendOptions): Promise<Answer> =>
  send(method, `${origin}/api/v1${path}`, options);

const expecting = async (status: number, response: Promise<Answer>): Promise<Answer> => {
  const answer = await response;
  if (answer.status !== status) throw new Error(`expected ${status}, got ${answer.status}: ${answer.text}`);
  return answer;
};

interface Member {
  id: number;
  username: string;
  phone: string;
  token: string;
}

let members = 0;
const register = async (name: string): Promise<Member> => {
  members += 1;
  const body = {
    username: name,
    email: `${name}@example.com`,
    phone: `0912${String(3_000_000 + members)}`,
    password: PASSWORD,
    first_name: 'Sara',
    last_name: 'Ahmadi',
  };
  const answer = await expecting(201, api('POST', '/auth/register', { body }));
  return { id: answer.body.user.id, username: name, phone: body.phone, token: answer.body.token };
};

const logIn = (login: string, password = PASSWORD): Promise<Answer> =>
  api('POST', '/auth/login', { body: { login, password } });

/** Uploads a public file of the account. */
const upload = async ({ id, token }: Member): Promise<string> => {
  const form = new FormData();
  form.set('attachable_type', 'App\\Models\\User');
  form.set('attachable_id', String(id));
  form.set('file', new Blob([PNG], { type: 'image/png' }), 'picture.png');
  const { body } = await expecting(201, api('POST', '/media', { token, body: form }));
  const path = `/media/${body.data.id}`;
  await expecting(200, api('GET', path));
  return path;
};

/** Opens a deposit and returns the bank's track id. */
const openDeposit = async ({ token }: Member, amount: number): Promise<string> => {
  const { body } = await expecting(201, api('POST', '/payments/deposit', { token, body: { amount } }));
  return String(body.payment_url).split('/').at(-1) ?? '';
};

/** Pays, but the browser does not return. */
const pay = (trackId: string): Promise<Answer> =>
  expecting(302, send('POST', `${sandboxOrigin}/_sandbox/zibal/${trackId}/pay`));

/** Pays, and the browser returns, so the bank is asked at once. */
const payAndReturn = async (trackId: string): Promise<void> => {
  const { headers } = await pay(trackId);
  await expecting(200, send('GET', headers.get('location') ?? ''));
};

const TOKEN = 'bought-since';
/** Buys at the store, which then has the money. */
const buyAtStore = (): Promise<Answer> =>
  expecting(
    200,
    send('PUT', `${sandboxOrigin}/_sandbox/store/purchases/${TOKEN}`, {
      body: { product_id: 'premium_plus', state: 'purchased' },
    }),
  );
const redeem = (token: string): Promise<Answer> =>
  api('POST', '/payments/store-purchases', {
    token,
    body: { channel: 'cafebazaar', product_id: 'premium_plus', purchase_token: TOKEN },
  });

/** Amounts of completed payments, newest first. */
const paymentsOf = async (token: string, type: string): Promise<number[]> => {
  const { body } = await expecting(200, api('GET', `/payments?type=${type}&per_page=50`, { token }));
  const rows: { amount: number; is_done: boolean }[] = body.data;
  return rows.filter(({ is_done: isDone }) => isDone).map(({ amount }) => amount);
};

const balanceOf = async (token: string): Promise<number> =>
  (await expecting(200, api('GET', '/payments/balance', { token }))).body.balance;

/** Requests the deletion of the account. */
const requestDeletion = async ({ token, phone }: Member): Promise<void> => {
  const request = (body: object) => api('POST', '/auth/delete-account', { token, body });
  await expecting(200, request({ current_password: PASSWORD }));
  const { body } = await send('GET', `${sandboxOrigin}/_sandbox/sms?receptor=${encodeURIComponent(phone)}`);
  await expecting(202, request({ current_password: PASSWORD, confirmation_code: body.data[0].code }));
};

/** Cancels the pending deletion and returns the time it was scheduled for. */
const cancelDeletion = async ({ username }: Member): Promise<number> => {
  const { user, token } = (await expecting(200, logIn(username))).body;
  await expecting(200, api('DELETE', '/auth/delete-account', { token }));
  return Date.parse(`${user.deletion_scheduled_at}Z`);
};

const DAY_MS = 86_400_000;

/** Sets the end of a pending deletion's grace period. */
const endGraceAt = async ({ id }: Member, at: Date): Promise<void> => {
  const file = readFileSync(join(directory, 'data/environment/servers.env'), 'utf8');
  const client = new MongoClient(parseEnv(file).MONGODB_URI ?? '');
  try {
    const users = client.db('fitness_identity').collection('users');
    const dated = await users.updateOne({ _id: id as never }, { $set: { deletion_scheduled_at: at } });
    expect(dated.modifiedCount).toBe(1);
  } finally {
    await client.close();
  }
};

const administrator = async (): Promise<string> =>
  (await expecting(200, logIn('administrator', 'demo-password-1'))).body.token;

/** Changes profiles of new members until it is ended. Requests that are refused do not matter. */
const load = (mark: string) => {
  let isEnding = false;
  loads.push(() => {
    isEnding = true;
  });
  const counts = { done: 0, refused: 0 };
  const worker = async (nth: number): Promise<void> => {
    let member: Member | undefined;
    while (!isEnding) {
      try {
        // Only one: registrations are limited, and the test needs some.
        member ??= await register(`${mark}.${nth}`);
        await expecting(200, api('PUT', '/auth/me', { token: member.token, body: { height: 180 } }));
        counts.done += 1;
      } catch {
        counts.refused += 1;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  };
  const workers = Promise.all([1, 2].map(worker));
  return async () => {
    isEnding = true;
    await workers;
    return counts;
  };
};

const backUp = (name: string) => finished('scripts/backup.mjs', join(directory, name));
const restoreArguments = (...args: string[]): string[] => [
  join(directory, 'backup'),
  '--operator',
  'Sara',
  '--overwrite',
  ...args,
];
const restore = (...args: string[]) => finished('scripts/restore.mjs', ...restoreArguments(...args));
const refusal = (why: string | RegExp) => ({ code: 1, output: expect.stringMatching(why) });

/** Kills `npm start`, whose parts go on, and ends these as the refusal says. */
const killProduct = async (product: Running): Promise<void> => {
  product.child.kill('SIGKILL');
  await product.ended;
  const refused = await backUp('live');
  expect(refused).toMatchObject(refusal(/Parts of the product run without npm start: .*mongodb/));
  expect(existsSync(join(directory, 'live'))).toBe(false);
  expect(await restore('--without-journal')).toMatchObject(refusal('without npm start'));
  const pids = /`kill ([\d ]+)`/.exec(refused.output)?.[1]?.split(' ') ?? [];
  for (const pid of pids) process.kill(Number(pid));
  await eventually(async () => !(await backUp('live')).output.includes('without npm start'), START);
  rmSync(join(directory, 'live'), { recursive: true });
};

/** Loses the disk with its databases. Returns the arguments that a restore needs for the complete journals, which survive elsewhere. */
const loseDisk = async (): Promise<string[]> => {
  const [data, copy, older] = ['data', 'copy', 'older'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  const lostAt = new Date().toISOString();
  cpSync(join(data, 'journal'), copy, { recursive: true });
  rmSync(data, { recursive: true });
  const place = (journals?: string): void => {
    rmSync(join(data, 'journal'), { recursive: true, force: true });
    if (journals === undefined) mkdirSync(join(data, 'journal'), { recursive: true });
    else cpSync(journals, join(data, 'journal'), { recursive: true });
  };
  for (const incomplete of [undefined, older]) {
    place(incomplete);
    expect(await restore('--lost-at', lostAt)).toMatchObject(refusal('lacks the marker of the backup'));
  }
  place(copy);
  // The RabbitMQ that has just ended may still hold a port.
  const started = await eventually(async () => {
    const start = await finished('scripts/start.mjs');
    return !start.output.includes('is already taken') && start;
  }, START);
  expect(started).toMatchObject(refusal('belongs to an earlier one: restore a backup'));
  // Nothing shows that the copy did not stop earlier, so the operator must say so.
  const asked = await restore('--lost-at', lostAt);
  expect(asked).toMatchObject(refusal('before the loss of the data'));
  return ['--lost-at', / --lost-at (\S+)\./.exec(asked.output)?.[1] ?? ''];
};

/** A restore that is killed half-way leaves services behind, and data that `npm start` refuses. */
const killRestore = async (...args: string[]): Promise<void> => {
  const half = run('scripts/restore.mjs', restoreArguments(...args));
  await eventually(() => {
    if (half.child.exitCode !== null) throw new Error(half.output());
    return half.output().includes('No event waits');
  }, START);
  half.child.kill('SIGKILL');
  await half.ended;
  expect(await finished('scripts/start.mjs')).toMatchObject(refusal('A restore was not completed'));
};

const journal = (): string[] => readdirSync(join(directory, 'data/journal'), { recursive: true }).map(String);

test('two restores bring back no erased account or revoked token, and money is booked or listed', async () => {
  let product = await startProduct();
  const victim = await register('victim');
  const file = await upload(victim);
  const keeper = await register('keeper');
  const { body: made } = await expecting(
    201,
    api('POST', '/auth/tokens', { token: keeper.token, body: { name: 'ci' } }),
  );
  const personal: string = made.token;
  await payAndReturn(await openDeposit(keeper, 100_000));
  expect(await balanceOf(keeper.token)).toBe(100_000);
  await expecting(
    200,
    api('PUT', '/auth/me', {
      token: keeper.token,
      body: { bank_account_number: 'IR062960000000100324200001', current_password: PASSWORD },
    }),
  );
  const { body: withdrawn } = await expecting(
    201,
    api('POST', '/payments/withdrawals', { token: keeper.token, body: { amount: 60_000 } }),
  );
  const withdrawal: number = withdrawn.payment.id;
  const openAtBackup = await openDeposit(keeper, 30_000);

  const waverer = await register('waverer');
  await requestDeletion(waverer);
  // The time is after the backup and before the end of the restore.
  await endGraceAt(waverer, new Date(Date.now() + 60_000));

  cpSync(join(directory, 'data/journal'), join(directory, 'older'), { recursive: true });
  // The recovery point is the backup: the restored data has everything until then.
  const last = await register('last');
  const endLoad = load('busy');
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const backup = join(directory, 'backup');
  const backingUp = run('scripts/backup.mjs', [backup]);
  await eventually(() => {
    if (backingUp.child.exitCode !== null) throw new Error(backingUp.output());
    return backingUp.output().includes('stop for the copy');
  }, START);
  expect(await backUp('second')).toMatchObject(refusal(`Process ${backingUp.child.pid} is`));
  const backedUp = { code: await backingUp.ended, output: backingUp.output() };
  expect(readdirSync(directory)).not.toContain('second');
  expect(backedUp).toMatchObject({ code: 0, output: expect.stringMatching(/Backed up .* stood still for/) });
  await eventually(() => answers(`${origin}/health/ready`), START);
  const during = await endLoad();
  expect(during.done).toBeGreaterThan(0);
  await cancelDeletion(waverer);
  expect((await backUp('backup')).output).toContain('exists already');
  for (const [name, ...args] of [['identity', '--operator', 'Sara'], ['wallet'], ['store-billing']])
    expect(
      await finished(
        `--env-file=${join(directory, `data/environment/${name}.env`)}`,
        ...[`services/${name}/src/restore-cli.ts`, ...args, '--backup', 'unknown', '--lost-at', '2026-01-02'],
      ),
    ).toMatchObject(refusal('lacks the marker of the backup, unknown.backup'));

  let newestId = 0;
  let paidSince = '';
  let unpaidSince = '';
  for (let round = 1; round <= 2; round += 1) {
    const admin = await administrator();
    if (round === 1) {
      await expecting(204, api('DELETE', `/users/${victim.id}`, { token: admin }));
      await eventually(async () => (await api('GET', file)).status === 404, START);
      await expecting(204, api('DELETE', `/auth/tokens/${made.data.id}`, { token: keeper.token }));
      await expecting(401, api('GET', '/auth/me', { token: personal }));
      await pay(openAtBackup);
      paidSince = await openDeposit(keeper, 20_000);
      await payAndReturn(paidSince);
      unpaidSince = await openDeposit(keeper, 10_000);
      await buyAtStore();
      await expecting(201, redeem(keeper.token));
      await expecting(200, api('POST', `/payments/${withdrawal}/pay`, { token: admin, body: {} }));
    }
    const younger = await register(`younger${round}`);
    // The journals name the first one, which the backup lacks.
    expect(younger.id).toBeGreaterThan(newestId);
    newestId = younger.id;
    await upload(younger);
    const ofYounger = await openDeposit(younger, 10_000);
    await expecting(204, api('DELETE', `/users/${younger.id}`, { token: admin }));
    const entries = journal();
    let journals = ['--lost-at', new Date(0).toISOString()];
    if (round === 1) {
      expect(await restore(...journals)).toMatchObject(refusal('The product is running'));
      await killProduct(product);
      const spoilt = join(backup, 'data/oauth-secret');
      const secret = readFileSync(spoilt, 'utf8');
      writeFileSync(spoilt, `${secret} `);
      expect(await restore(...journals)).toMatchObject(refusal('oauth-secret'));
      writeFileSync(spoilt, secret);
      journals = await loseDisk();
      await killRestore(...journals);
    } else await stop(product);
    // A killed restore may leave personal data behind.
    const leftover = join(directory, 'data/replaced-2026-01-02T03-04-05-678Z');
    mkdirSync(leftover);
    const startedAt = performance.now();
    const restored = await restore(...journals);
    expect(restored).toMatchObject({ code: 0, output: expect.stringContaining('Restored') });
    expect(existsSync(leftover)).toBe(false);
    expect(restored.output).toContain('Erased 1 account again.');
    expect(restored.output).toContain('Gave 1 pending deletion of the backup the whole grace period');
    expect(restored.output).toMatch(/The journals in .* have [1-9]\d* entries, the newest of 20/);
    const [, lists = ''] = /\. Keep (\S+): .*\n$/.exec(restored.output) ?? [];
    expect(readFileSync(lists, 'utf8')).toContain(`track id ${paidSince} of`);
    expect(restored.output).toMatch(/Ended [1-9]\d* credentials of the backup/);
    expect(restored.output).toMatch(
      new RegExp(`withdrawal ${withdrawal} of user ${keeper.id}: 60000 Tooman, .*, recorded as paid`),
    );
    for (const [trackId, outcome] of [
      [openAtBackup, 'booked'],
      [paidSince, 'booked'],
      [unpaidSince, 'not paid yet'],
      [ofYounger, 'nothing is stored'],
    ])
      expect(restored.output).toMatch(new RegExp(`track id ${trackId} of .*: ${outcome}`));
    expect(restored.output).toMatch(
      new RegExp(`premium_plus of user ${keeper.id}, cafebazaar ${TOKEN}, .*: granted`),
    );
    expect(restored.output).toContain('everything adds up');
    expect(restored.output).toContain('everything is intact');
    expect(journal()).toEqual(expect.arrayContaining(entries));

    product = await startProduct();
    expect((await logIn(last.username)).status).toBe(200);
    expect(performance.now() - startedAt).toBeLessThan(RECOVERY_TIME_MS);
    expect((await logIn(victim.username)).status).toBe(422);
    expect((await api('GET', `/users/${victim.id}`)).status).toBe(404);
    expect((await api('GET', file)).status).toBe(404);
    for (const token of [personal, keeper.token, victim.token])
      expect((await api('GET', '/auth/me', { token })).status).toBe(401);
    // The deletion was cancelled since the backup, and can be cancelled again.
    expect(await cancelDeletion(waverer)).toBeGreaterThan(Date.now() + 13 * DAY_MS);
    const { token } = (await expecting(200, logIn(keeper.username))).body;
    // The withdrawal is open, as in the backup.
    expect(await balanceOf(token)).toBe(90_000);
    expect((await paymentsOf(token, 'deposit')).sort()).toEqual([100_000, 20_000, 30_000]);
    await eventually(async () => (await paymentsOf(token, 'store_purchase')).length === 1, START);
    await expecting(200, redeem(token));
    const { body: me } = await expecting(200, api('GET', '/auth/me', { token }));
    expect(me.user.current_subscription).not.toBeNull();
  }
  await stop(product);
}, 900_000);
