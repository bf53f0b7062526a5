/** Each metric in the operator guide, changed by the activity that it measures. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { deadLetterQueue } from '@fitness/shared/messaging/topology.ts';
import { describe, expect, test } from '@jest/globals';
import { connect } from 'amqplib';
import {
  type Account,
  api,
  deposit,
  eventually,
  expectStatus,
  login,
  PASSWORD,
  register,
  sandbox,
  stack,
  untilCodesAreSent,
} from './support.ts';

const IBAN = 'IR062960000000100324200001';
const SERVICES = ['identity', 'wallet', 'gyms', 'content', 'media', 'store-billing'];

/** Parses a line of a scrape: `name{labels}`, sorted and without the process label, and the value. */
const read = (line: string): [series: string, value: number] => {
  const at = line.lastIndexOf(' ');
  const [name = '', labels = ''] = line.slice(0, at).split('{');
  const shown = (labels.match(/\w+="[^"]*"/g) ?? []).filter((label) => !label.startsWith('service='));
  return [shown.length === 0 ? name : `${name}{${shown.sort().join(',')}}`, Number(line.slice(at + 1))];
};

/** Whether a series is counted per replica. Others are the same for each replica. */
const isCounted = (series: string): boolean => /_(?:total|count|sum|bucket)(?:\{|$)/.test(series);

/** The series of all replicas of a process. */
const scrape = async (process: string): Promise<Map<string, number>> => {
  const all = new Map<string, number>();
  for (const { url, operationsUrl } of stack().replicas(process)) {
    const response = await fetch(`${operationsUrl ?? url}/metrics`);
    expect(response.status).toBe(200);
    const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    for (const [series, value] of lines.map(read)) {
      const former = all.get(series) ?? 0;
      all.set(series, isCounted(series) ? former + value : Math.max(former, value));
    }
  }
  return all;
};

const seriesOf = async (process: string, series: string): Promise<number | undefined> =>
  (await scrape(process)).get(series);

/** The change that `work` makes to a series, which must already exist. */
const moved = async (process: string, series: string, work: () => Promise<unknown>): Promise<number> => {
  const before = await seriesOf(process, series);
  if (before === undefined) throw new Error(`${process} has no series ${series}`);
  await work();
  return ((await seriesOf(process, series)) ?? Number.NaN) - before;
};

const withSandboxMode = async (
  provider: string,
  mode: string,
  usual: string,
  work: () => Promise<unknown>,
): Promise<void> => {
  expectStatus(await sandbox('PUT', `/${provider}/mode`, { mode }), 200);
  try {
    await work();
  } finally {
    expectStatus(await sandbox('PUT', `/${provider}/mode`, { mode: usual }), 200);
  }
};

test('the guide lists every metric except those of Node', async () => {
  const guide = readFileSync(new URL('../../docs/guides/operators/watch.md', import.meta.url), 'utf8');
  const rows = guide.split('## Metrics')[1]?.split('## Alerts')[0]?.split('\n') ?? [];
  const listed = rows.flatMap((row) => /^\| (`[^|]*) \|/.exec(row)?.[1]?.match(/[a-z_]+/g) ?? []);
  const exported = new Set<string>();
  for (const process of ['gateway', ...SERVICES]) {
    for (const series of (await scrape(process)).keys()) {
      const name = series.replace(/\{.*/, '').replace(/_(?:bucket|sum|count)$/, '');
      if (!/^(?:process|nodejs)_/.test(name)) exported.add(name);
    }
  }
  // This metric exists only with mutual TLS, which the end-to-end tests do not use.
  exported.add('tls_certificate_not_after_seconds');
  expect(listed.sort()).toEqual([...exported].sort());
});

test('each process reports its version', async () => {
  for (const process of ['gateway', ...SERVICES]) {
    const series = [...(await scrape(process)).keys()];
    expect(series.filter((name) => /^build_info\{node=".*",version="1\./.test(name))).toHaveLength(1);
  }
});

test('circuit breakers and event outcomes are reported as 0 before anything happens', async () => {
  const wallet = await scrape('wallet');
  expect(wallet.get('circuit_breaker_open{target="zibal"}')).toBe(0);
  expect(wallet.get('circuit_breaker_open{target="identity"}')).toBe(0);
  for (const service of SERVICES) {
    const series = await scrape(service);
    const dead = [...series].filter(([name]) => /^events_handled_total\{.*outcome="dead"\}$/.test(name));
    expect(dead.length).toBeGreaterThan(0);
  }
});

test('the gateway measures each route of the services', async () => {
  await api('GET', '/gyms?per_page=1');
  const routes = [...(await scrape('gateway')).keys()].filter((name) =>
    name.startsWith('http_request_duration_seconds_count'),
  );
  expect(routes.some((name) => name.includes('method="GET",route="/api/v1/gyms",status="200"'))).toBe(true);
});

test('sign-ins are counted by outcome', async () => {
  const { username } = await register();
  const ok = () => login(username);
  expect(await moved('identity', 'logins_total{outcome="ok"}', ok)).toBeGreaterThanOrEqual(1);
  const wrong = () => login(username, 'wrong-password');
  expect(await moved('identity', 'logins_total{outcome="wrong"}', wrong)).toBeGreaterThanOrEqual(1);
  const often = () => Promise.all(Array.from({ length: 12 }, () => login(username)));
  expect(await moved('identity', 'logins_total{outcome="limited"}', often)).toBeGreaterThanOrEqual(1);
});

test('SMS are counted by outcome', async () => {
  const ask = async (account: Account): Promise<unknown> =>
    api('POST', '/auth/delete-account', { token: account.token, body: { current_password: PASSWORD } });
  const [first, second] = [await register(), await register()];
  const sent = 'sms_sent_total{message="code",outcome="sent"}';
  expect(await moved('identity', sent, () => ask(first))).toBeGreaterThanOrEqual(1);
  const answered = 'provider_request_duration_seconds_count{outcome="answered",target="kavenegar"}';
  expect(await seriesOf('identity', answered)).toBeGreaterThan(0);
  expectStatus(await sandbox('PUT', '/sms/mode', { mode: 'refuse', receptor: second.phone }), 200);
  const refused = 'sms_sent_total{message="code",outcome="refused"}';
  expect(await moved('identity', refused, () => ask(second))).toBeGreaterThanOrEqual(1);
});

describe('money', () => {
  const waiting = (kind: string) => `waiting_cases{kind="${kind}"}`;
  const ageOf = (kind: string) => `waiting_oldest_case_age_seconds{kind="${kind}"}`;

  test('open deposits are counted, and bank requests measured with their failures', async () => {
    const { token } = await register();
    const ask = () => api('POST', '/payments/deposit', { token, body: { amount: 50_000 } });
    expect(await moved('wallet', waiting('deposit'), ask)).toBe(1);
    expect(await seriesOf('wallet', ageOf('deposit'))).toBeGreaterThan(0);
    const failed = 'provider_request_duration_seconds_count{outcome="failed",target="zibal"}';
    const before = (await seriesOf('wallet', failed)) ?? 0;
    await withSandboxMode('zibal', 'unreachable', 'ok', ask);
    expect(await seriesOf('wallet', failed)).toBeGreaterThan(before);
  });

  test('unsettled withdrawals are counted', async () => {
    const { token } = await register();
    const body = { bank_account_number: IBAN, current_password: PASSWORD };
    expectStatus(await api('PUT', '/auth/me', { token, body }), 200);
    await deposit(token, 500_000);
    const ask = async () =>
      expectStatus(await api('POST', '/payments/withdrawals', { token, body: { amount: 100_000 } }), 201);
    expect(await moved('wallet', waiting('withdrawal'), ask)).toBe(1);
    expect(await seriesOf('wallet', ageOf('withdrawal'))).toBeGreaterThan(0);
  });

  test('purchases that the store cannot confirm yet are counted', async () => {
    const account = await register();
    const purchase_token = `metrics-${account.id}`;
    const purchase = { product_id: 'premium_plus', state: 'unreachable' };
    expectStatus(await sandbox('PUT', `/store/purchases/${purchase_token}`, purchase), 200);
    const body = { channel: 'cafebazaar', product_id: 'premium_plus', purchase_token };
    const redeem = async () =>
      expectStatus(await api('POST', '/payments/store-purchases', { token: account.token, body }), 500);
    expect(await moved('store-billing', waiting('purchase'), redeem)).toBe(1);
    expect(await seriesOf('store-billing', ageOf('purchase'))).toBeGreaterThan(0);
  });

  test('purchases that must be refunded are counted', async () => {
    const { token, username } = await register();
    const before = (await seriesOf('store-billing', waiting('refund'))) ?? Number.NaN;
    for (const purchase_token of [`${username}-first`, `${username}-second`]) {
      const purchase = { product_id: 'premium_plus', state: 'purchased' };
      expectStatus(await sandbox('PUT', `/store/purchases/${purchase_token}`, purchase), 200);
      const body = { channel: 'cafebazaar', product_id: 'premium_plus', purchase_token };
      await api('POST', '/payments/store-purchases', { token, body });
    }
    await eventually(async () => (await seriesOf('store-billing', waiting('refund'))) === before + 1);
    expect(await seriesOf('store-billing', ageOf('refund'))).toBeGreaterThan(0);
  });
});

test('an audit reports when it ended and whether it found a fault', async () => {
  const { environment } = stack().part('wallet');
  expect(await seriesOf('wallet', 'audit_intact{audit="ledger"}')).toBe(1);
  const run = promisify(execFile);
  const startedAt = Date.now() / 1_000;
  await run(process.execPath, ['services/wallet/src/audit-cli.ts'], {
    env: { ...process.env, ...environment },
  });
  const endedAt = await seriesOf('wallet', 'audit_last_run_timestamp_seconds{audit="ledger"}');
  expect(endedAt).toBeGreaterThanOrEqual(startedAt - 1);
  expect(await seriesOf('wallet', 'audit_intact{audit="ledger"}')).toBe(1);
});

describe('events', () => {
  const address = { name: 'Iron', address: 'Street 1', location_lat: 35.7, location_lng: 51.4 };

  test('events wait in the outbox while the broker is down, and its queues are not reported', async () => {
    const { token } = await register();
    const product = stack();
    await product.stop('rabbitmq');
    try {
      expectStatus(await api('POST', '/gyms', { token, body: address }), 201);
      const gyms = await scrape('gyms');
      expect(gyms.get('outbox_events')).toBeGreaterThan(0);
      expect(gyms.get('outbox_oldest_event_age_seconds')).toBeGreaterThanOrEqual(0);
      expect(gyms.get('dead_letters')).toBeUndefined();
      const servers = ['mongodb', 'rabbitmq', 'redis'].map((server) =>
        gyms.get(`server_up{server="${server}"}`),
      );
      expect(servers).toEqual([1, 0, 1]);
    } finally {
      await product.start('rabbitmq');
      await untilCodesAreSent();
    }
    await eventually(async () => (await seriesOf('gyms', 'outbox_events')) === 0);
    await eventually(async () => {
      const consumers = [...(await scrape('media'))].filter(([name]) =>
        name.startsWith('consumer_queue_consumers{'),
      );
      return consumers.length > 0 && consumers.every(([, count]) => count >= 1);
    });
  });

  test('unreadable events become dead letters', async () => {
    const consumer = /consumer="([^"]+)"/.exec(
      [...(await scrape('media')).keys()].find((name) => name.startsWith('consumer_queue_messages{')) ?? '',
    )?.[1];
    const { servers } = stack().describe();
    const namespace = stack().part('media').environment.EVENTS_NAMESPACE ?? '';
    const connection = await connect(servers.AMQP_URL);
    try {
      const channel = await connection.createChannel();
      const publish = async (): Promise<void> => {
        channel.sendToQueue(`${namespace}.media.events.${consumer}`, Buffer.from('no event'));
        await eventually(async () => ((await seriesOf('media', 'dead_letters')) ?? 0) > 0);
      };
      expect(await moved('media', 'dead_letters', publish)).toBe(1);
      await channel.purgeQueue(deadLetterQueue(namespace, 'media'));
      expect(await seriesOf('media', 'retrying_events')).toBe(0);
    } finally {
      await connection.close();
    }
  });
});
