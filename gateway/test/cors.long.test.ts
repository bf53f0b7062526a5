/** `CORS_ORIGINS` in a real browser. */
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire, stripTypeScriptTypes } from 'node:module';
import { launchChromium } from '@fitness/shared/testing/chromium.ts';
import { type PageServer, startPageServer } from '@fitness/shared/testing/web-page.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { allReceived, bearer, type Harness, startHarness } from './support.ts';

let browser: Browser;
let listed: PageServer;
let stranger: PageServer;
let gateway: Harness;

const CLIENT = new URL('../../packages/client/src/', import.meta.url);

/** The modules of the typed client by their path on the page, without types: browsers do not resolve bare names. */
const clientScripts = (): Record<string, string> => {
  const requests = createRequire(CLIENT)
    .resolve('openapi-fetch')
    .replace(/\.cjs$/, '.mjs');
  const own = readdirSync(CLIENT, { recursive: true, encoding: 'utf8' }).flatMap((file) => {
    if (!file.endsWith('.ts') || file.endsWith('.test.ts')) return [];
    const script = stripTypeScriptTypes(readFileSync(new URL(file, CLIENT), 'utf8'));
    return [[`/client/${file}`, script.replace("'openapi-fetch'", "'/openapi-fetch.mjs'")] as const];
  });
  return { '/openapi-fetch.mjs': readFileSync(requests, 'utf8'), ...Object.fromEntries(own) };
};

beforeAll(async () => {
  [browser, listed, stranger] = await Promise.all([
    launchChromium(),
    startPageServer(clientScripts()),
    startPageServer(),
  ]);
  gateway = await startHarness({ CORS_ORIGINS: listed.origin });
});
beforeEach(() => gateway.reset());
afterAll(() => Promise.all([browser.close(), listed.close(), stranger.close(), gateway.close()]));

const open = async ({ origin }: PageServer): Promise<Page> => {
  const page = await browser.newPage();
  await page.goto(origin);
  return page;
};

interface Call {
  path: string;
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** The response that a script of the page can read; undefined if the browser refuses. */
const call = (page: Page, { path, ...init }: Call) =>
  page.evaluate(
    async ([url, options]) => {
      try {
        const response = await fetch(url, options);
        return {
          status: response.status,
          text: await response.text(),
          headers: Object.fromEntries(response.headers),
        };
      } catch {
        return undefined;
      }
    },
    [`${gateway.url}${path}`, init] as const,
  );

const JSON_BODY = { 'content-type': 'application/json' };
const PING = {
  path: '/mcp',
  method: 'POST',
  headers: {
    ...bearer(),
    ...JSON_BODY,
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-06-18',
  },
  body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
};
const CALLS: [string, Call][] = [
  ['GET /api/v1', { path: '/api/v1/posts' }],
  [
    'PUT /api/v1',
    {
      path: '/api/v1/auth/me',
      method: 'PUT',
      headers: {
        ...bearer(),
        ...JSON_BODY,
        'if-match': '"1"',
        'idempotency-key': 'k',
        'x-request-id': 'abc',
      },
      body: '{}',
    },
  ],
  ['DELETE /api/v1', { path: '/api/v1/gyms/1', method: 'DELETE', headers: bearer() }],
  ['POST /oauth/register', { path: '/oauth/register', method: 'POST', headers: JSON_BODY, body: '{}' }],
  [
    'POST /oauth/token',
    {
      path: '/oauth/token',
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', authorization: 'Basic eDo=' },
      body: 'a=b',
    },
  ],
  ['POST /mcp', PING],
];

describe('a page of a listed origin', () => {
  test.each(CALLS)('a page of a listed origin may call %s and read the response', async (_what, request) => {
    const page = await open(listed);
    expect(await call(page, request)).toMatchObject({ status: 200 });
    await page.close();
  });

  test('a page of a listed origin can read the headers that a client needs', async () => {
    const sent = {
      etag: '"1"',
      'retry-after': '7',
      'x-ratelimit-limit': '10',
      'x-ratelimit-remaining': '0',
      'content-disposition': 'attachment; filename="a.txt"',
      'www-authenticate': 'Bearer error="insufficient_scope", scope="posts.view"',
    };
    gateway.upstreams.content.handler = (_request, response) => response.writeHead(403, sent).end();
    const page = await open(listed);
    const answer = await call(page, { path: '/api/v1/posts' });
    expect(answer).toMatchObject({ status: 403, headers: { ...sent, 'x-request-id': expect.any(String) } });
    await page.close();
  });

  test.each<[string, Call, number]>([
    ['a 401', { path: '/api/v1/auth/me', headers: bearer('unknown') }, 401],
    ['a 401 of /mcp', { ...PING, headers: { ...PING.headers, ...bearer('unknown') } }, 401],
    ['a 404', { path: '/unknown' }, 404],
    ['a 413', { path: '/api/v1/gyms', method: 'POST', headers: JSON_BODY, body: 'x'.repeat(1_100_000) }, 413],
  ])('a page of a listed origin can read %s', async (_what, request, status) => {
    const page = await open(listed);
    expect(await call(page, request)).toMatchObject({ status });
    await page.close();
  });

  test('the typed client can read Retry-After of a 503 and of a 429', async () => {
    const answers: [number, Record<string, string>][] = [
      [503, { 'retry-after': '1' }],
      [200, {}],
      [429, { 'retry-after': '17' }],
    ];
    const times: number[] = [];
    gateway.upstreams.content.handler = (_request, response) => {
      times.push(performance.now());
      const [status, headers] = answers.shift() ?? [500, {}];
      response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end('{"message":"Later."}');
    };
    const page = await open(listed);
    const seen = await page.evaluate(
      async ([path, baseUrl]) => {
        const { createClient, unwrap }: typeof import('@fitness/client') = await import(path);
        const client = createClient({ baseUrl });
        const { response } = await client.GET('/api/v1/posts');
        const { name, retryAfterSeconds } = await unwrap(client.GET('/api/v1/posts')).then(
          () => ({ name: 'no error', retryAfterSeconds: undefined }),
          (error: { name: string; retryAfterSeconds: number }) => error,
        );
        return { status: response.status, name, retryAfterSeconds };
      },
      ['/client/index.ts', gateway.url] as const,
    );
    expect(seen).toEqual({ status: 200, name: 'RateLimitError', retryAfterSeconds: 17 });
    expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(990);
    await page.close();
  });

  test('a page cannot send cookies', async () => {
    const page = await open(listed);
    const refused = await page.evaluate(
      (url) =>
        fetch(url, { credentials: 'include' }).then(
          () => false,
          () => true,
        ),
      `${gateway.url}/api/v1/posts`,
    );
    expect(refused).toBe(true);
    await page.close();
  });
});

describe('a page of another origin', () => {
  test.each(CALLS)('a page of another origin cannot read the response to %s', async (_what, request) => {
    const page = await open(stranger);
    expect(await call(page, request)).toBeUndefined();
    // Requests that need a preflight are not sent at all.
    expect(allReceived(gateway).map(({ method }) => method)).toEqual(
      request.method === undefined ? ['GET'] : [],
    );
    await page.close();
  });

  test('a page of another origin can read the public metadata', async () => {
    const page = await open(stranger);
    for (const path of ['oauth-authorization-server', 'oauth-protected-resource/mcp']) {
      const headers = { 'mcp-protocol-version': '2025-06-18' };
      expect(await call(page, { path: `/.well-known/${path}`, headers })).toMatchObject({ status: 200 });
    }
    await page.close();
  });
});

test('no page of another origin can read the sign-in page', async () => {
  const page = await open(listed);
  expect(await call(page, { path: '/oauth/authorize?client_id=x' })).toBeUndefined();
  expect(await call(page, { path: '/oauth/interaction/abc' })).toBeUndefined();
  await page.close();
});
