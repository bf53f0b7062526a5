/** The answers to guests that the gateway keeps for a second. */
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createGuestCache } from '../src/request/guest-cache.ts';
import { bearer, type Harness, MEMBER_TOKEN, startHarness } from './support.ts';

const PUBLIC = 'public, max-age=1, stale-while-revalidate=5';
const ETAG = 'W/"abc"';

let harness: Harness;
let path: string;
let paths = 0;
beforeAll(async () => {
  harness = await startHarness({ GUEST_CACHE_MIB: '1', CORS_ORIGINS: 'https://app.example.com' });
});
beforeEach(() => {
  harness.reset();
  paths += 1;
  path = `/api/v1/cities?per_page=${paths}`;
});
afterAll(() => harness.close());

const answerWith = (headers: Record<string, string>, status = 200, delayMs = 0): void => {
  harness.upstreams.gyms.handler = async (request, response) => {
    await sleep(delayMs);
    const body = JSON.stringify({ language: request.headers['accept-language'] ?? null });
    response.writeHead(status, { 'content-type': 'application/json', etag: ETAG, ...headers }).end(body);
  };
};
const ask = (headers: Record<string, string> = {}, to = path) =>
  fetch(`${harness.url}${to}`, { headers: { 'accept-language': 'en', ...headers } });
const asked = () => harness.upstreams.gyms.received.length;

test('a public answer is kept for guests, with the headers of each request', async () => {
  answerWith({ 'cache-control': PUBLIC, vary: 'Origin', 'x-internal-route': '/api/v1/cities' });
  const first = await ask();
  const second = await ask({ origin: 'https://app.example.com', 'x-request-id': 'mine' });
  expect(asked()).toBe(1);
  expect(await second.json()).toEqual(await first.json());
  expect(Object.fromEntries(second.headers)).toMatchObject({
    'cache-control': PUBLIC,
    'content-type': 'application/json',
    etag: ETAG,
    age: '0',
    'access-control-allow-origin': 'https://app.example.com',
    'x-request-id': 'mine',
    'x-content-type-options': 'nosniff',
  });
  expect(first.headers.get('access-control-allow-origin')).toBeNull();
  expect(second.headers.get('x-internal-route')).toBeNull();
});

test('for a second at most', async () => {
  answerWith({ 'cache-control': 'public, max-age=60' });
  await ask();
  await sleep(1_100);
  await ask();
  expect(asked()).toBe(2);
});

test('for each language and query', async () => {
  answerWith({ 'cache-control': PUBLIC });
  await ask();
  expect(await (await ask({ 'accept-language': 'fa' })).json()).toEqual({ language: 'fa' });
  await ask({}, `${path}&page=2`);
  expect(asked()).toBe(3);
});

test('a kept answer is 304 without a body for its ETag', async () => {
  answerWith({ 'cache-control': PUBLIC });
  await ask();
  const answer = await ask({ 'if-none-match': ETAG });
  expect([answer.status, await answer.text(), answer.headers.get('etag')]).toEqual([304, '', ETAG]);
  expect((await ask({ 'if-none-match': '"other"' })).status).toBe(200);
  expect(asked()).toBe(1);
});

test.each([
  ['private', { 'cache-control': 'private, no-cache' }, 200],
  ['of a service that says nothing', {}, 200],
  ['public, but no success', { 'cache-control': PUBLIC }, 404],
  ['public for no time', { 'cache-control': 'public, max-age=0' }, 200],
])('an answer that is %s is not kept', async (_what, headers, status) => {
  answerWith(headers as Record<string, string>, status);
  for (let times = 0; times < 3; times += 1) expect((await ask()).status).toBe(status);
  expect(asked()).toBe(3);
});

test.each([
  ['a user', bearer(), 200],
  ['a range', { range: 'bytes=0-1' }, 200],
])('a request of %s is neither answered from memory nor kept', async (_who, headers, status) => {
  answerWith({ 'cache-control': PUBLIC });
  expect((await ask(headers)).status).toBe(status);
  await ask();
  expect((await ask(headers)).status).toBe(status);
  expect(asked()).toBe(3);
});

test('a token that was revoked is 401 where a guest would be answered from memory', async () => {
  answerWith({ 'cache-control': PUBLIC });
  await ask();
  await ask(bearer());
  harness.tokens.delete(MEMBER_TOKEN);
  for (const headers of [{}, { 'if-none-match': ETAG }, { 'if-none-match': '*' }]) {
    const answer = await ask({ ...bearer(), ...headers });
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([401, 'no-store']);
  }
  expect((await ask()).status).toBe(200);
  expect(asked()).toBe(2);
});

describe('requests at one time', () => {
  const expire = () => sleep(1_100);

  test('wait for one, where the last answer was kept', async () => {
    answerWith({ 'cache-control': PUBLIC }, 200, 100);
    await ask();
    await expire();
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask()));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(asked()).toBe(2);
  });

  test('ask for themselves when that one is not public any more, or its client disconnects', async () => {
    answerWith({ 'cache-control': PUBLIC });
    await ask();
    await expire();
    answerWith({ 'cache-control': 'private, no-cache' }, 200, 50);
    await Promise.all(Array.from({ length: 5 }, () => ask()));
    expect(asked()).toBe(6);

    answerWith({ 'cache-control': PUBLIC });
    await ask();
    await expire();
    harness.upstreams.gyms.handler = () => undefined;
    const leaving = new AbortController();
    const first = fetch(`${harness.url}${path}`, {
      headers: { 'accept-language': 'en' },
      signal: leaving.signal,
    });
    await eventually(() => asked() === 8);
    const others = [ask(), ask()];
    answerWith({ 'cache-control': PUBLIC });
    await sleep(50);
    leaving.abort();
    await expect(first).rejects.toThrow();
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual([200, 200]);
  });
});

test('by default nothing is kept', async () => {
  const plain = await startHarness();
  try {
    plain.upstreams.gyms.handler = (_request, response) =>
      response.writeHead(200, { 'cache-control': PUBLIC }).end('{}');
    for (let times = 0; times < 3; times += 1) await fetch(`${plain.url}/api/v1/cities`);
    expect(plain.upstreams.gyms.received).toHaveLength(3);
  } finally {
    await plain.close();
  }
});

describe('the memory', () => {
  const keep = (cache: ReturnType<typeof createGuestCache>, key: string, bytes: number): void =>
    cache.answer(
      key,
      () => undefined,
      (keeper) => {
        keeper.begin(200, { 'cache-control': PUBLIC });
        keeper.data(Buffer.alloc(bytes));
        keeper.end();
      },
    );

  test('is bounded by bytes, and a large answer takes none of it', () => {
    const cache = createGuestCache(1);
    const keys = Array.from({ length: 100 }, (_, n) => `/${n}`);
    for (const key of keys) keep(cache, key, 50_000);
    const found = keys.filter((key) => cache.get(key) !== undefined);
    expect(found.length).toBeGreaterThan(10);
    expect(found.length * 50_000).toBeLessThan(1024 * 1024);
    expect(cache.get('/99')).toBeDefined();
    keep(cache, '/large', 200_000);
    expect(cache.get('/large')).toBeUndefined();
  });
});
