/** Invalid input: the response is a 4xx with the field, and nothing is written. */

import { encodeCursor } from '@fitness/shared/http/pagination.ts';
import { CALLER_HEADER } from '@fitness/shared/process-identity/caller-context.ts';
import { appCaller, gatewayContext, restrictedCaller, type Send } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Harness, OPERATOR, startHarness } from './support.ts';

let harness: Harness;
let send: Send;
let as: ReturnType<Harness['person']>;
let withdrawal: number;

beforeAll(async () => {
  harness = await startHarness();
  send = harness.send;
  as = harness.person();
  await harness.give(as.userId, 1_000_000);
  const response = await send('POST', '/payments/withdrawals', { as, body: { amount: 1 } });
  withdrawal = response.body.payment.id;
});

afterAll(() => harness.close());

const cursorOf = (key: number[]): string => encodeCursor(key, { url: '/api/v1/payments' });

const countOf = (collection: string) => harness.connection.collection(collection).countDocuments();

/** Everything that a booking or a deposit changes. */
const written = async () => [
  await countOf('payments'),
  await countOf('ledger_entries'),
  await harness.balanceOf(as.userId),
];

/** Sends raw text, because JSON can contain numbers that no JavaScript value has. */
const sendText = async (path: string, text: string, type = 'application/json') => {
  const answer = await fetch(`${harness.wallet.url}/api/v1${path}`, {
    method: 'POST',
    headers: {
      [CALLER_HEADER]: gatewayContext('wallet', as),
      'content-type': type,
    },
    body: text,
  });
  return { status: answer.status, body: JSON.parse(await answer.text()) };
};

describe.each(['/payments/deposit', '/payments/withdrawals'])('the body of POST %s', (path) => {
  test('an amount that is no whole number in range is rejected with 422 under amount', async () => {
    const before = await written();
    const negative = ['0', '-1', '-0', '-5000', '-1e400'];
    const inexact = ['1000.5', '1e-3', '1e400', '9007199254740992', '9007199254740993', '1e300'];
    const text = ['"5000"', '"5e3"', '"NaN"', '""'];
    const other = ['null', 'true', '[5000]', '[]', '{}', '{"$gt":0}', '{"$numberLong":"5000"}'];
    for (const amount of [...negative, ...inexact, ...text, ...other, '{"toString":"5000"}']) {
      const { status, body } = await sendText(path, `{"amount":${amount}}`);
      expect([amount, status, Object.keys(body.errors ?? {})]).toEqual([amount, 422, ['amount']]);
    }
    expect(await written()).toEqual(before);
  });

  test('a description that is not text of at most 500 characters is rejected with 422 under description', async () => {
    const before = await written();
    const long = `"${'x'.repeat(501)}"`;
    for (const value of ['7', 'false', '{}', '["x"]', long, '"half \\ud83d of a pair"', '{"$ne":null}']) {
      const { status, body } = await sendText(path, `{"amount":5000,"description":${value}}`);
      expect([value, status, Object.keys(body.errors ?? {})]).toEqual([value, 422, ['description']]);
    }
    expect(await written()).toEqual(before);
  });

  test('a body that is not a JSON object is refused', async () => {
    const before = await written();
    const json = 'application/json';
    for (const [text, type, expected] of [
      ['', json, [400, 422]],
      ['{"amount":NaN}', json, [400]],
      ['{"amount":5000', json, [400]],
      ['{"amount":0x10}', json, [400]],
      ['{"amount":5000,"__proto__":{"amount":1}}', json, [400]],
      ['null', json, [422]],
      ['[]', json, [422]],
      ['[{"amount":5000}]', json, [422]],
      ['5000', json, [422]],
      ['"amount"', json, [422]],
      ['amount=5000', 'application/x-www-form-urlencoded', [415]],
      ['{"amount":5000}', 'text/plain', [415]],
    ] as const) {
      const { status, body } = await sendText(path, text, type);
      expect([text, expected.includes(status as never)]).toEqual([text, true]);
      expect(body).toHaveProperty('message');
    }
    expect(await written()).toEqual(before);
  });

  test('an Idempotency-Key other than 1 to 255 visible characters gets 422 under idempotency_key', async () => {
    const before = await written();
    for (const key of ['', ' ', 'x'.repeat(256), 'two words']) {
      const headers = { 'idempotency-key': key };
      const { status, body } = await send('POST', path, { as, headers, body: { amount: 5_000 } });
      expect([key, status, Object.keys(body.errors ?? {})]).toEqual([key, 422, ['idempotency_key']]);
    }
    expect(await written()).toEqual(before);
  });

  test.each([
    ['third-party app', appCaller],
    ['restricted token', restrictedCaller],
  ])('a %s with payments.view_own sees the payments but cannot move money', async (_who, token) => {
    const before = await written();
    const viewer = token(as.userId, ...as.permissions);
    expect((await send('POST', path, { as: viewer, body: { amount: 5_000 } })).status).toBe(403);
    expect((await send('GET', '/payments', { as: viewer })).status).toBe(200);
    expect(await written()).toEqual(before);
    const personal = { ...as, tokenKind: 'personal' as const };
    expect((await send('POST', path, { as: personal, body: {} })).status).toBe(422);
  });

  test('a description becomes one line, so it cannot imitate the gateway’s reference', async () => {
    const description = 'Top\r\nup\u2028now\u0085or\u0000later\n123456789';
    const { body } = await send('POST', path, { as, body: { amount: 5_000, description } });
    expect(body.payment.description).toBe('Top up now or later 123456789');
  });
});

test.each(['pay', 'reject'])(
  'POST /payments/{id}/%s ignores a body, and a malformed id returns 404',
  async (verb) => {
    for (const text of ['{"amount":1000000}', '[]', '{"$set":{}}']) {
      const { status } = await sendText(`/payments/${withdrawal}/${verb}`, text);
      expect(status).toBe(403);
    }
    for (const id of [
      '0',
      '-1',
      '1.0',
      '1e3',
      '01',
      '9007199254740993',
      '%00',
      '[1]',
      '$ne',
      'null',
      '1'.repeat(300),
    ]) {
      const { status } = await send('POST', `/payments/${id}/${verb}`, { as: OPERATOR });
      expect([id, status]).toEqual([id, 404]);
    }
  },
);

describe('GET /payments', () => {
  test('a timestamp in another format is rejected with 422 under its parameter', async () => {
    const dates = [
      '2026-13-01',
      '2026-00-10',
      '2026-02-29',
      '2026-1-1',
      '26-01-01',
      '20260101',
      '2026-01-01T',
    ];
    const times = ['25:00:00', '24:00:00', '10:00', '10:00:00.5'].map((time) => `2026-01-01 ${time}`);
    const zoned = ['2026-01-01T10:00:00Z', '2026-01-01T10:00:00+03:30', '+002026-01-01', '2026-01-01\n'];
    const words = ['1767225600', ' ', 'now', 'NaN', '-1', '٢٠٢٦-٠١-٠١'];
    for (const [index, timestamp] of [...dates, ...times, ...zoned, ...words].entries()) {
      const end = index % 2 === 0 ? 'from' : 'to';
      const { status, body } = await send('GET', `/payments?${end}=${encodeURIComponent(timestamp)}`, { as });
      expect([timestamp, status, Object.keys(body.errors ?? {})]).toEqual([timestamp, 422, [end]]);
    }
  });

  test('an invalid query is rejected with 422 under its parameter', async () => {
    const rows: [string, string][] = [
      ...['type', 'is_done', 'rejected', 'from', 'to', 'order', 'user_id', 'page', 'per_page', 'cursor'].map(
        (name): [string, string] => [`${name}=1&${name}=1`, name],
      ),
      ['type=INCOME', 'type'],
      ['type=income,purchase', 'type'],
      ['type=constructor', 'type'],
      ['is_done=TRUE', 'is_done'],
      ['order=asc', 'order'],
      ['user_id=1.5', 'user_id'],
      ['user_id=1e3', 'user_id'],
      ['user_id=-1', 'user_id'],
      ['user_id=9007199254740992', 'user_id'],
      ['page=-1', 'page'],
      ['page=1.5', 'page'],
      ['page=1e1', 'page'],
      ['page=9999999999', 'page'],
      ['per_page=0', 'per_page'],
      ['per_page=-1', 'per_page'],
      ['per_page=ten', 'per_page'],
      [`cursor=${'x'.repeat(501)}`, 'cursor'],
      ['page=335', 'page'],
      ['page=101&per_page=100', 'page'],
      [`cursor=${cursorOf([1, 2])}`, 'cursor'],
      [`cursor=${cursorOf([])}`, 'cursor'],
      [`cursor=${cursorOf([-1])}`, 'cursor'],
      [`cursor=${cursorOf([1e308])}`, 'cursor'],
      [`cursor=${cursorOf([0.5])}`, 'cursor'],
      [`cursor=${encodeCursor([1], { url: '/api/v1/payments/deposit/disputed' })}`, 'cursor'],
      [`cursor=${Buffer.from('[-1]').toString('base64url')}`, 'cursor'],
      [`cursor=${Buffer.from('[1]').toString('base64url')}`, 'cursor'],
      [`cursor=${Buffer.from('["1"]').toString('base64url')}`, 'cursor'],
      [`cursor=${Buffer.from('[{"$gt":0}]').toString('base64url')}`, 'cursor'],
      [`cursor=${Buffer.from('[null]').toString('base64url')}`, 'cursor'],
      [`cursor=${Buffer.from('[1e999]').toString('base64url')}`, 'cursor'],
      [`cursor=${Buffer.from('[[1]]').toString('base64url')}`, 'cursor'],
    ];
    for (const [search, field] of rows) {
      const { status, body } = await send('GET', `/payments?${search}`, { as });
      expect([search, status, Object.keys(body.errors ?? {})]).toEqual([search, 422, [field]]);
    }
  });

  test('an empty parameter is treated as absent', async () => {
    const empty = 'type=&is_done=&user_id=&order=&from=&page=&per_page=&cursor=';
    const { status, body } = await send('GET', `/payments?${empty}`, { as });
    const all = await send('GET', '/payments', { as });
    expect([status, body.data, body.meta]).toEqual([200, all.body.data, all.body.meta]);
  });

  test('every invalid parameter is reported at once', async () => {
    const { status, body } = await send('GET', '/payments?type=x&from=x&page=0&user_id=x', { as });
    expect([status, Object.keys(body.errors).sort()]).toEqual([422, ['from', 'page', 'type', 'user_id']]);
  });

  beforeAll(() => harness.give(harness.person().userId, 5));
  test.each([
    ['from=2026-01-02&to=2026-01-01', 30, 0],
    ['from=0000-01-01&to=9999-12-31', 30, 1],
    ['page=100&per_page=100', 100, 0],
    [`cursor=${cursorOf([2 ** 53 - 1])}`, 30, 1],
    [`cursor=${cursorOf([2 ** 53 - 1])}&order=ASC`, 30, 0],
    ['per_page=1', 1, 1],
    ['per_page=100', 100, 1],
    ['per_page=101', 100, 1],
    ['per_page=999999999', 100, 1],
    ['__proto__=1&constructor=2&user_id[$ne]=1&$where=1', 30, 1],
  ])('the query ?%s lists the caller’s own payments, %d per page', async (search, perPage, rows) => {
    const { status, body } = await send('GET', `/payments?type=income&${search}`, { as });
    expect([status, body.meta.per_page]).toEqual([200, perPage]);
    expect(body.data.map((row: { user_id: number }) => row.user_id)).toEqual(Array(rows).fill(as.userId));
  });
});

test('the balance of an invalid user id is rejected with 422 under user_id', async () => {
  for (const id of ['x', '0', '-1', '1.5', '9007199254740993', '1&user_id=2']) {
    const { status, body } = await send('GET', `/payments/balance?user_id=${id}`, { as: OPERATOR });
    expect([id, status, Object.keys(body.errors ?? {})]).toEqual([id, 422, ['user_id']]);
  }
});

describe('the callback', () => {
  test('a callback without exactly one valid track id and order id gets 422 under the parameter', async () => {
    const rows: [string, string][] = [
      ['', 'trackId'],
      ['trackId=', 'trackId'],
      ['trackId=1.5', 'trackId'],
      ['trackId=1e3', 'trackId'],
      ['trackId=%00', 'trackId'],
      ['trackId=1%0A', 'trackId'],
      ['trackId=1111111111111111', 'trackId'],
      [`trackId=${'1'.repeat(5_000)}`, 'trackId'],
      ['trackId[]=1', 'trackId'],
      ['trackId[$gt]=', 'trackId'],
      ['trackid=1', 'trackId'],
      ['trackId=1&trackId=1', 'trackId'],
      ['trackId=1&orderId=1&orderId=2', 'orderId'],
      [`trackId=1&orderId=${'1'.repeat(65)}`, 'orderId'],
      ['trackId=1&orderId={"$ne":1}', 'orderId'],
    ];
    for (const [search, field] of rows) {
      const { status, body } = await send('GET', `/payments/deposit/callback?${search}`);
      expect([search, status, Object.keys(body.errors ?? {})]).toEqual([search, 422, [field]]);
    }
  });

  test('a callback ignores other parameters', async () => {
    const { body } = await send('POST', '/payments/deposit', { as, body: { amount: 5_000 } });
    const trackId = body.payment_url.split('/').at(-1);
    for (const claim of [
      'success=1&success=0',
      `status=${'9'.repeat(99)}`,
      'success[$ne]=1',
      'amount=1',
      'status=',
    ])
      expect(
        (await send('GET', `/payments/deposit/callback?trackId=${trackId}&${claim}`, { as })).status,
      ).toBe(200);
    expect((await send('GET', `/payments/deposit/callback?trackId=0${trackId}`, { as })).status).toBe(404);
  });
});

describe('gRPC', () => {
  const booking = (changes: Record<string, unknown>) => ({
    user_id: as.userId,
    type: 'income',
    amount: 5,
    ...changes,
  });

  test('Book refuses invalid bookings', async () => {
    const before = await written();
    const rows: [object, string][] = [
      [{ amount: 0 }, 'bookings.0.amount'],
      [{ amount: -5 }, 'bookings.0.amount'],
      [{ amount: '9007199254740992' }, 'bookings'],
      [{ amount: '9223372036854775807' }, 'bookings'],
      [{ amount: '-9223372036854775808' }, 'bookings'],
      [{ user_id: 0 }, 'bookings.0.user_id'],
      [{ user_id: -1 }, 'bookings.0.user_id'],
      [{ payable_id: 0 }, 'bookings.0.payable_id'],
      [{ type: 'deposit' }, 'bookings.0.type'],
      [{ type: 'withdrawal' }, 'bookings.0.type'],
      [{ type: 'store_purchase' }, 'bookings.0.type'],
      [{ type: '' }, 'bookings.0.type'],
      [{ type: 'constructor' }, 'bookings.0.type'],
    ];
    for (const [changes, field] of rows) {
      const call = harness.book({ idempotency_key: 'refused', bookings: [booking({ ...changes })] });
      await expect(call).rejects.toMatchObject({
        kind: 'validation',
        fields: { [field]: expect.anything() },
      });
    }
    expect(await written()).toEqual(before);
  });

  test('Book refuses a key that is too long and too many bookings', async () => {
    const before = await written();
    await expect(
      harness.book({ idempotency_key: 'x'.repeat(256), bookings: [booking({})] }),
    ).rejects.toMatchObject({ kind: 'validation', fields: { idempotency_key: expect.anything() } });
    const bookings = Array.from({ length: 101 }, () => booking({}));
    await expect(harness.book({ idempotency_key: 'many', bookings })).rejects.toMatchObject({
      kind: 'validation',
      fields: { bookings: expect.anything() },
    });
    expect(await written()).toEqual(before);
  });
});

test('the audit finds no difference after these tests', async () => {
  expect((await harness.audit()).difference).toBeUndefined();
});
