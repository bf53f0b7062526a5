/** Malformed and hostile input gets a 4xx that names the field, never a 500, and has no effect. */
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { CALLER_HEADER } from '@fitness/shared/process-identity/caller-context.ts';
import { gatewayContext } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { count, type Harness, newToken, newUser, PREMIUM, startHarness, storeCalls } from './support.ts';

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

const send = async (
  path: string,
  as: UserCaller,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Record<string, unknown> }> => {
  const context = gatewayContext('store-billing', as);
  const answer = await fetch(`${harness.service.url}/api/v1${path}`, {
    method: 'POST',
    headers: { [CALLER_HEADER]: context, 'content-type': 'application/json', ...headers },
    body,
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
};

const REDEEM = '/payments/store-purchases';
const ROUTES = [REDEEM, '/payments/buy-premium', '/payments/boost'];

/** `{error, code}` for 400 and 404 here, `{message, errors}` for 422, `{message}` for the rest. */
const KEYS: Readonly<Record<number, string[]>> = {
  400: ['code', 'error'],
  404: ['code', 'error'],
  413: ['message'],
  415: ['message'],
  422: ['errors', 'message'],
};

const expectError = ({ status, body }: Awaited<ReturnType<typeof send>>, expected: number): void => {
  expect([status, Object.keys(body).sort()]).toEqual([expected, KEYS[status]]);
};

const nested = (depth: number, inner = '1'): string => '['.repeat(depth) + inner + ']'.repeat(depth);

describe.each(ROUTES)('%s', (path) => {
  test.each<[string, string | Uint8Array<ArrayBuffer>, number]>([
    ['nothing', '', 422],
    ['an empty object', '{}', 422],
    ['null', 'null', 422],
    ['a list', '[]', 422],
    ['a list of objects', '[{"type":"plus"}]', 422],
    ['a text', '"text"', 422],
    ['a number', '5', 422],
    ['a number that overflows', '1e400', 422],
    ['true', 'true', 422],
    ['32 nested lists', nested(32), 422],
    ['33 nested lists', nested(33), 400],
    ['ten thousand nested lists', nested(10_000), 400],
    ['a prototype', '{"__proto__":{"type":"plus"}}', 400],
    ['a deeply nested prototype', `{"a":${nested(30, '{"__proto__":{}}')}}`, 400],
    ['a constructor with a prototype', '{"constructor":{"prototype":{"type":"plus"}}}', 400],
    ['half a body', '{"type":', 400],
    ['two bodies', '{}{}', 400],
    ['a word', 'undefined', 400],
    ['a byte order mark', '\ufeff{', 400],
    ['bytes that are no UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 400],
    ['more than a megabyte', JSON.stringify({ type: 'x'.repeat(1024 * 1024) }), 413],
  ])('a body with %s is refused', async (_name, body, status) => {
    expectError(await send(path, newUser(), body), status);
  });

  test('a body of another media type is rejected with 415', async () => {
    for (const type of ['text/plain', 'application/xml', 'application/x-www-form-urlencoded', 'nonsense'])
      expectError(await send(path, newUser(), '{}', { 'content-type': type }), 415);
  });
});

describe('a redemption', () => {
  const body = (fields: Record<string, string>): string => {
    const all = { channel: '"cafebazaar"', product_id: '"premium_plus"', purchase_token: '"t"', ...fields };
    return `{${Object.entries(all)
      .map(([name, value]) => `"${name}":${value}`)
      .join(',')}}`;
  };
  const invalidValues = [
    'null',
    'true',
    '5',
    '-1',
    '1e400',
    '[]',
    '["cafebazaar"]',
    '{}',
    '{"$ne":null}',
    '{"toString":"x"}',
    nested(31),
  ];

  test.each(['channel', 'product_id', 'purchase_token'])(
    'a redemption with an invalid %s is rejected with 422 and names the field',
    async (name) => {
      const user = [newUser(), newUser()] as const;
      for (const [index, value] of invalidValues.entries()) {
        const answer = await send(REDEEM, user[index % 2] as UserCaller, body({ [name]: value }));
        expectError(answer, 422);
        expect(Object.keys(answer.body.errors as object)).toEqual([name]);
      }
    },
  );

  test('a boost redemption with an invalid target is rejected with 422 and names the field', async () => {
    const users = [newUser(), newUser(), newUser()] as const;
    const boost = { product_id: '"boost_basic"', boostable_type: '"gym"', boostable_id: '1' };
    const cases = [
      ...invalidValues.map((value) => ['boostable_type', value] as const),
      ...[...invalidValues.filter((value) => !/^-?\d$/.test(value)), '1.5', '9007199254740993', '"1"'].map(
        (value) => ['boostable_id', value] as const,
      ),
    ];
    for (const [index, [name, value]] of cases.entries()) {
      const answer = await send(REDEEM, users[index % 3] as UserCaller, body({ ...boost, [name]: value }));
      expectError(answer, 422);
      expect(Object.keys(answer.body.errors as object)).toEqual([name]);
    }
  });

  test.each([
    ['prototype', '"__proto__"'],
    ['constructor', '"constructor"'],
    ['null byte', '"premium_plus\\u0000"'],
    ['a lone surrogate', '"\\ud800"'],
    ['other case', '"PREMIUM_PLUS"'],
    ['space', '" premium_plus"'],
    ['longest of four-byte characters', JSON.stringify('😀'.repeat(95))],
  ])('a redemption with the product id %s is rejected with 404', async (_name, value) => {
    const answer = await send(REDEEM, newUser(), body({ product_id: value }));
    expect([answer.status, answer.body.code]).toEqual([404, 'store_purchase.not_found']);
  });

  test.each([
    ['null bytes', 'a\u0000b'],
    ['only spaces', '   '],
    ['an operator', '$where'],
    ['a variable', '$$ROOT'],
    ['a parent path', '../../../etc/passwd'],
    ['an encoded parent path', '..%2f..%2f'],
    ['a line break', 'a\r\nX-Injected: 1'],
    ['the longest of Persian letters', 'ش'.repeat(255)],
    ['the longest of four-byte characters', '😀'.repeat(127)],
  ])('a redemption with a token of %s sends exactly that token to the store', async (_name, start) => {
    const token = start.length > 200 ? start : `${start}${newToken()}`;
    const user = newUser();
    const answer = await send(REDEEM, user, body({ purchase_token: JSON.stringify(token) }));
    expect([answer.status, answer.body.code]).toEqual([400, 'store_purchase.verification_failed']);
    expect(await storeCalls(harness, token)).toBe(1);
    expect(await count(harness, 'store_purchase_attempts', { user_id: user.userId, state: 'closed' })).toBe(
      1,
    );
  });
});

describe('a purchase from the wallet', () => {
  test.each([
    '{"boostable_type":"gym","boostable_id":1e400,"level":"basic"}',
    '{"boostable_type":"gym","boostable_id":"1","level":"basic"}',
    '{"boostable_type":"gym","boostable_id":1.5,"level":"basic"}',
    '{"boostable_type":"gym","boostable_id":9007199254740993,"level":"basic"}',
  ])('the boost body %s is rejected with 422 and names the id', async (body) => {
    const answer = await send('/payments/boost', newUser(), body);
    expectError(answer, 422);
    expect(Object.keys(answer.body.errors as object)).toEqual(['boostable_id']);
  });

  test.each([0, -1, Number.MAX_SAFE_INTEGER])('a boost of the target %d is rejected with 404', async (id) => {
    const body = JSON.stringify({ boostable_type: 'gym', boostable_id: id, level: 'basic' });
    const answer = await send('/payments/boost', newUser(), body);
    expect([answer.status, answer.body.code]).toEqual([404, 'payments.target_not_found']);
  });

  test.each(['', ' ', 'a b', 'é', 'x'.repeat(256)])(
    'the idempotency key %j is rejected with 422 and charges nothing',
    async (key) => {
      const user = newUser();
      harness.wallet.balances.set(user.userId, PREMIUM);
      const sent = send('/payments/buy-premium', user, '{"type":"plus"}', { 'idempotency-key': key });
      const answer = await sent;
      expect([answer.status, Object.keys(answer.body.errors as object)]).toEqual([422, ['idempotency_key']]);
      expect(harness.wallet.balances.get(user.userId)).toBe(PREMIUM);
    },
  );
});
