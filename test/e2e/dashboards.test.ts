/** The dashboards and alerts with a real Prometheus, which scrapes the running product under load and faults. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { deadLetterQueue, eventsExchangeName } from '@fitness/shared/messaging/topology.ts';
import { launchChromium } from '@fitness/shared/testing/chromium.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { connect } from 'amqplib';
import sharp from 'sharp';
import { parse, stringify } from 'yaml';
import { findExecutable } from '../../scripts/lib/paths.mjs';
import { freePorts } from '../../scripts/lib/ports.mjs';
import { findOrInstall } from '../../scripts/lib/servers/apt.mjs';
import { createSupervisor } from '../../scripts/lib/supervisor.mjs';
import { type Dashboard, type Panel, pictureOf, type Series } from './dashboard-picture.ts';
import { api, arm, deposit, eventually, expectStatus, login, register, sandbox, stack } from './support.ts';

const source = fileURLToPath(new URL('../../deploy/observability', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'dashboards-'));
const pictures = process.env.SCREENSHOTS;
/** Pictures need more data. */
const [CALM_MS, FAULT_MS, OUTAGE_MS] =
  pictures === undefined ? [20_000, 10_000, 10_000] : [120_000, 45_000, 45_000];
const SCRAPE_S = 2;
const RATE_WINDOW = '20s';

const dashboards = readdirSync(join(source, 'dashboards')).map((file) => ({
  name: file.replace('.json', ''),
  dashboard: JSON.parse(readFileSync(join(source, 'dashboards', file), 'utf8')) as Dashboard,
}));

/** Writes the configuration of `npm start` with this product's ports. Alerts wait four seconds instead of minutes. */
const writeConfiguration = (): void => {
  const rules = readFileSync(join(source, 'alerts.yml'), 'utf8')
    .replace(/\bfor: \d+[smh]$/gm, 'for: 4s')
    .replace(/\binterval: \d+s$/gm, `interval: ${SCRAPE_S}s`);
  writeFileSync(join(directory, 'alerts.yml'), rules);
  const config = parse(readFileSync(join(source, 'prometheus.npm-start.yml'), 'utf8'));
  config.global = { scrape_interval: `${SCRAPE_S}s`, evaluation_interval: `${SCRAPE_S}s` };
  for (const target of config.scrape_configs[0].static_configs) {
    const replicas = stack().replicas(target.labels.service);
    target.targets = replicas.map(({ url, operationsUrl }) => new URL(operationsUrl ?? url).host);
  }
  writeFileSync(join(directory, 'prometheus.yml'), stringify(config));
};

let prometheus: ChildProcess;
let address: string;
beforeAll(async () => {
  const context = { supervisor: createSupervisor(), logDirectory: directory, log: console.error };
  await findOrInstall(context, 'prometheus');
  writeConfiguration();
  const [port] = await freePorts(1);
  address = `http://127.0.0.1:${port}`;
  const options = {
    'config.file': 'prometheus.yml',
    'storage.tsdb.path': 'data',
    'web.listen-address': `127.0.0.1:${port}`,
  };
  const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  prometheus = spawn(findExecutable('prometheus') ?? 'prometheus', args, { cwd: directory, stdio: 'ignore' });
  await eventually(async () => (await fetch(`${address}/-/ready`).catch(() => undefined))?.ok === true);
}, 5 * 60_000);
afterAll(async () => {
  // Unreachable purchases would be verified again, and open the store's circuit breaker for later files.
  expectStatus(await sandbox('DELETE', ''), 200);
  prometheus.kill();
  if (prometheus.exitCode === null) await new Promise((resolve) => prometheus.once('exit', resolve));
  rmSync(directory, { recursive: true, force: true });
});

interface Result {
  metric: Record<string, string>;
  values: [number, string][];
}

const query = async (expr: string, [start, end]: [number, number]): Promise<Result[]> => {
  const body = new URLSearchParams({ query: expr, start: `${start}`, end: `${end}`, step: `${SCRAPE_S}` });
  const response = await fetch(`${address}/api/v1/query_range`, { method: 'POST', body });
  const answer = (await response.json()) as { data: { result: Result[] }; error?: string };
  if (answer.error !== undefined) throw new Error(`${expr}: ${answer.error}`);
  return answer.data.result;
};

/** Series that contain a number. */
const seriesOf = async ({ targets }: Panel, range: [number, number]): Promise<Series[]> => {
  const series: Series[] = [];
  for (const { expr, legendFormat } of targets) {
    for (const { metric, values } of await query(expr.replaceAll('$__rate_interval', RATE_WINDOW), range)) {
      const points = values.map(([time, value]): [number, number] => [time, Number(value)]);
      const name = legendFormat.replace(/\{\{(\w+)\}\}/g, (_, label: string) => metric[label] ?? '');
      if (points.some(([, value]) => !Number.isNaN(value))) series.push({ name, points });
    }
  }
  return series;
};

/** The firing alerts, as `alert subject`. */
const fired = async (range: [number, number]): Promise<string[]> => {
  const firing = await query('ALERTS{alertstate="firing"}', range);
  return firing.map(({ metric: { alertname, objective, service, target } }) =>
    `${alertname} ${objective ?? target ?? service ?? ''}`.trim(),
  );
};

/** Typical member requests, as fast as they are served. Wrong responses are caused by the faults. */
const visit = async (): Promise<void> => {
  const account = await register();
  const { token, username } = account;
  await login(username);
  await login(username, 'wrong-password');
  await api('GET', '/gyms?per_page=5');
  // This must happen before anything blocks the deletion.
  await arm(account);
  await api('POST', '/gyms', {
    token,
    body: { name: 'Iron', address: 'Street 1', location_lat: 35.7, location_lng: 51.4 },
  });
  visited += 1;
  // The limit of an address is 30 a minute, and the next file has the same address.
  if (visited % 10 === 1) await api('POST', '/auth/forgot-password', { body: { login: username } });
  const body = { channel: 'cafebazaar', product_id: 'premium_plus', purchase_token: username };
  await sandbox('PUT', `/store/purchases/${username}`, { product_id: body.product_id, state: storeState });
  await api('POST', '/payments/store-purchases', { token, body });
  await deposit(token, 50_000);
};
let storeState = 'purchased';
let visited = 0;

/** A load of two members at a time, each with one visit per second. */
const load = (): (() => Promise<unknown>) => {
  let isEnding = false;
  const visits = async (): Promise<void> => {
    while (!isEnding) await Promise.all([visit().catch(() => undefined), sleep(1_000)]);
  };
  const running = Promise.all([visits(), visits()]);
  return () => {
    isEnding = true;
    return running;
  };
};

/** Publishes a message that its consumer cannot read. */
const publishGarbage = async (): Promise<void> => {
  const connection = await connect(stack().describe().servers.AMQP_URL);
  const { EVENTS_NAMESPACE = '' } = stack().part('media').environment;
  const channel = await connection.createConfirmChannel();
  channel.publish(eventsExchangeName(EVENTS_NAMESPACE), 'content.post.deleted', Buffer.from('no event'));
  await channel.waitForConfirms();
  await connection.close();
};

const purgeDeadLetters = async (): Promise<void> => {
  const connection = await connect(stack().describe().servers.AMQP_URL);
  const { EVENTS_NAMESPACE = '' } = stack().part('media').environment;
  const channel = await connection.createChannel();
  await channel.purgeQueue(deadLetterQueue(EVENTS_NAMESPACE, 'media'));
  await connection.close();
};

test.each(['prometheus.yml', 'prometheus.npm-start.yml'])(
  'promtool accepts the configuration %s',
  async (file) => {
    const args = ['check', 'config', file];
    const { stdout } = await promisify(execFile)(findExecutable('promtool') ?? 'promtool', args, {
      cwd: source,
    });
    expect(stdout).toContain(`${file} is valid`);
  },
);

const now = (): number => Math.floor(Date.now() / 1_000);

describe('a load of visits, then faults', () => {
  /** Panels without data, because there are no certificates without TLS. */
  const EMPTY = ['Certificates: time until they end'];
  const FAULTS = [
    'CircuitBreakerOpen zibal',
    'DeadLetters media',
    'EventDied media',
    'ObjectiveMissed payment',
    'ProcessDown gyms',
    'ProviderFails zibal',
    'SmsFail',
  ];
  let range: [number, number];
  let before: string[];

  /**
   * Waits until each alert has fired, one minute at most: the shares of failures grow slowly when few visits fit into a
   * second. A test below names those that did not fire.
   */
  const untilFired = async (from: number): Promise<void> => {
    const haveFired = async (): Promise<boolean> => {
      const alerts = await fired([from, now()]);
      return FAULTS.every((fault) => alerts.includes(fault));
    };
    await eventually(haveFired, { timeoutMs: 60_000, intervalMs: SCRAPE_S * 1_000 }).catch(() => undefined);
  };

  beforeAll(async () => {
    const from = now();
    const end = load();
    try {
      await sleep(CALM_MS);
      before = await fired([from, now()]);
      storeState = 'unreachable';
      expectStatus(await sandbox('PUT', '/sms/mode', { mode: 'refuse' }), 200);
      expectStatus(await sandbox('PUT', '/zibal/mode', { mode: 'unreachable' }), 200);
      await publishGarbage();
      await sleep(FAULT_MS);
      await stack().kill('gyms');
      await sleep(OUTAGE_MS);
      await untilFired(from);
      range = [from, now()];
    } finally {
      await end();
      expectStatus(await sandbox('PUT', '/sms/mode', { mode: 'ok' }), 200);
      expectStatus(await sandbox('PUT', '/zibal/mode', { mode: 'ok' }), 200);
      await stack().start('gyms');
      await purgeDeadLetters();
    }
  });

  test('the alerts for the faults fire only after the faults begin', async () => {
    expect(before.filter((alert) => FAULTS.includes(alert))).toEqual([]);
    expect(await fired(range)).toEqual(expect.arrayContaining(FAULTS));
  });

  test.each(dashboards)('each panel of $name has data', async ({ name, dashboard }) => {
    const series: Series[][] = [];
    for (const panel of dashboard.panels) series.push(await seriesOf(panel, range));
    const empty = dashboard.panels
      .filter((_, index) => series[index]?.length === 0)
      .map(({ title }) => title);
    expect(empty.filter((title) => !EMPTY.includes(title))).toEqual([]);
    if (pictures === undefined) return;
    const note = `Drawn from the queries of the dashboard, not by Grafana: ${range[1] - range[0]} s of load. After ${CALM_MS / 1_000} s SMS are refused, bank and store do not respond, and an event is unreadable; after ${(CALM_MS + FAULT_MS) / 1_000} s the service gyms is killed.`;
    const browser = await launchChromium();
    const page = await browser.newPage({ viewport: { width: 1_280, height: 400 } });
    await page.setContent(pictureOf(dashboard, series, range, note));
    mkdirSync(pictures, { recursive: true });
    const picture = await page.screenshot({ fullPage: true });
    await sharp(picture)
      .png({ palette: true })
      .toFile(join(pictures, `dashboard-${name}.png`));
    await browser.close();
  });
});
