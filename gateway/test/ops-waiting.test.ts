/** The counts of items that wait for operators, in the navigation and on the first page of `/ops`. */

import { DAY_MS, formatTimestamp, HOUR_MS } from '@fitness/shared/kernel/clock.ts';
import { beforeEach, expect, test } from '@jest/globals';
import { SERVICES } from '../src/request/routes.ts';
import {
  arrangeOps,
  calls,
  clock,
  gateway,
  operatorOf,
  PATH,
  replies,
  STATUS,
  signIn,
  TOKEN,
  WITHDRAWAL,
} from './ops-support.ts';

arrangeOps();

const ago = (durationMs: number): string => formatTimestamp(new Date(clock.now().getTime() - durationMs));
const list = (row: object | undefined, total: number) => ({
  status: 200,
  body: {
    data: row === undefined ? [] : [row],
    meta: { current_page: 1, last_page: Math.max(1, total), total },
  },
});
const withdrawal = (age: number, total = 3) =>
  replies.set('GET /payments', list({ ...WITHDRAWAL, created_at: ago(age) }, total));
const refund = (age: number, total = 1) =>
  replies.set('GET /payments/store-purchases/refund-queue', list({ id: 1, created_at: ago(age) }, total));

beforeEach(() => {
  withdrawal(HOUR_MS);
  replies.set('GET /payments/deposit/disputed', list(undefined, 0));
  replies.set('GET /payments/store-purchases/refund-queue', list(undefined, 0));
  replies.set('GET /gyms/license-reviews', list({ id: 1 }, 4));
  replies.set('GET /users/license-reviews', list({ id: 1 }, 5));
});

const badges = async (path = ''): Promise<Record<string, string>> => {
  const { html } = await (await signIn()).get(`${PATH}${path}`);
  const nav = html.slice(html.indexOf('<nav'), html.indexOf('</nav>'));
  const matches = nav.matchAll(/href="\/ops\/([a-z-]+)[^"]*"[^>]*>[^<]*<span class="badge (\w+)">([^<]+)</g);
  return Object.fromEntries([...matches].map(([, slug = '', kind, count]) => [slug, `${kind} ${count}`]));
};

test('every page has the counts in its navigation, and no count where nothing is waiting', async () => {
  for (const path of ['', '/withdrawals', '/roles']) {
    if (path === '/roles') replies.set('GET /roles', { status: 200, body: { data: [], meta: {} } });
    expect([path, await badges(path)]).toEqual([path, { withdrawals: 'waiting 3', licenses: 'waiting 9' }]);
  }
});

test.each([
  ['a withdrawal of just two days', () => withdrawal(2 * DAY_MS), 'withdrawals', 'waiting 3'],
  ['a withdrawal of more than two days', () => withdrawal(2 * DAY_MS + 1_000), 'withdrawals', 'bad 3'],
  ['a refund of a day', () => refund(DAY_MS), 'disputes', 'waiting 1'],
  ['a refund of more than a day', () => refund(DAY_MS + 1_000), 'disputes', 'bad 1'],
  [
    'any disputed deposit',
    () => replies.set('GET /payments/deposit/disputed', list({ payment: { created_at: ago(0) } }, 1)),
    'disputes',
    'bad 1',
  ],
  [
    'any dead letter',
    () => {
      const queues = { ...STATUS.queues, dead_letters: 2 };
      replies.set('GET /operations', { status: 200, body: { ...STATUS, queues } });
    },
    'dead-letters',
    'bad 12',
  ],
] as const)('%s has a badge that matches its alert rule', async (_which, arrange, slug, badge) => {
  arrange();
  expect((await badges())[slug]).toBe(badge);
});

test('the first page links each kind to its list, with its oldest item and its time limit', async () => {
  withdrawal(3 * DAY_MS);
  refund(HOUR_MS, 2);
  const { html } = await (await signIn()).get(PATH);
  const card = html.slice(html.indexOf('Waiting for an operator'), html.indexOf('</section>'));
  const rows = card.split('<tr ').slice(2);
  expect(rows).toHaveLength(4);
  for (const part of [
    'href="/ops/withdrawals?lang=en"',
    '3',
    'the oldest is late',
    ago(3 * DAY_MS),
    '48 hours',
  ])
    expect(rows[0]).toContain(part);
  expect(rows.find((row) => row.includes('Purchases to refund'))).toContain('24 hours');
  expect(rows.find((row) => row.includes('Gym licenses'))).toContain('>4<');
  const refunds = gateway.upstreams['store-billing'].received.map(({ url }) => url);
  expect(refunds).toContain('/api/v1/payments/store-purchases/refund-queue?per_page=1&page=2');
});

test('a withdrawal shows its deadline, and a late one is marked', async () => {
  withdrawal(2 * DAY_MS + 1_000);
  const late = (await (await signIn()).get(`${PATH}/withdrawals`)).html;
  expect(late).toContain('<span class="badge bad">Late</span></span></td>');
  withdrawal(HOUR_MS);
  const { html } = await (await signIn()).get(`${PATH}/withdrawals`);
  expect(html).not.toContain('<span class="badge bad">Late');
  const deadline = new Date(clock.now().getTime() - HOUR_MS + 2 * DAY_MS);
  expect(html).toContain(`Deadline: <time datetime="${deadline.toISOString().slice(0, 19)}`);
});

test('a list that cannot be read does not affect the others, and is not shown as zero', async () => {
  replies.set('GET /payments/deposit/disputed', { status: 503, body: { message: 'later' } });
  const page = await (await signIn()).get(PATH);
  expect([page.status, page.html.includes('These lists cannot be read right now: Disputes')]).toEqual([
    200,
    true,
  ]);
  expect(await badges()).toMatchObject({ disputes: 'waiting ?', withdrawals: 'waiting 3' });
});

test('only lists that the operator may see are counted', async () => {
  gateway.tokens.set(TOKEN, operatorOf(['operations.manage']));
  const browser = await signIn();
  gateway.upstreams.wallet.received.length = 0;
  const { html } = await browser.get(PATH);
  const urls = gateway.upstreams.wallet.received.map(({ url }) => url);
  expect([html.includes('Nothing is waiting.'), urls]).toEqual([true, []]);
});

test('charts show the deposits and withdrawals of the last 24 hours, with a text alternative', async () => {
  const hour = (hours: number): string =>
    new Date(Math.floor(clock.now().getTime() / HOUR_MS) * HOUR_MS - hours * HOUR_MS).toISOString();
  const data = [
    { hour: hour(0), type: 'deposit', is_done: true, count: 6 },
    { hour: hour(0), type: 'deposit', is_done: false, count: 2 },
    { hour: hour(23), type: 'deposit', is_done: true, count: 4 },
    { hour: hour(24), type: 'deposit', is_done: true, count: 99 },
    { hour: hour(1), type: 'withdrawal', is_done: false, count: 1 },
  ];
  replies.set('GET /payments/hours', { status: 200, body: { data } });
  const { html } = await (await signIn()).get(PATH);
  const [deposits = '', withdrawals = ''] = html.split('<svg class="chart"').slice(1);
  expect(deposits).toContain('Deposits by hour. Credited: 10. Not credited: 2. Busiest hour: 8 payments');
  expect(
    [...deposits.matchAll(/<rect class="(\w+)" x="(\d+)" y="([\d.]+)" width="8" height="([\d.]+)"/g)].map(
      ([, ...rest]) => rest,
    ),
  ).toEqual([
    ['good', '0', '30', '30'],
    ['good', '230', '15', '45'],
    ['waiting', '230', '0', '15'],
  ]);
  expect(withdrawals).toContain('Not paid: 1');
  replies.delete('GET /payments/hours');
  expect((await (await signIn()).get(PATH)).html).toContain('<svg class="chart"');
  clock.advance(30_000);
  const without = await (await signIn()).get(PATH);
  expect([without.status, without.html.includes('<svg class="chart"')]).toEqual([200, false]);
});

test('a page reads the queues of each service once, and the wallet’s chart once per half minute', async () => {
  replies.set('GET /payments/hours', { status: 200, body: { data: [] } });
  clock.advance(30_000);
  const [first, second] = [await signIn(), await signIn()];
  const callsTo = (path: string): string[] => calls.filter((call) => call.endsWith(` GET ${path}`));
  calls.length = 0;
  await first.get(PATH);
  expect(callsTo('/operations').sort()).toEqual(
    SERVICES.map((service) => `${service} GET /operations`).sort(),
  );
  await second.get(PATH);
  expect(callsTo('/payments/hours')).toEqual(['wallet GET /payments/hours']);
  clock.advance(30_000);
  await second.get(PATH);
  expect(callsTo('/payments/hours')).toHaveLength(2);
});
