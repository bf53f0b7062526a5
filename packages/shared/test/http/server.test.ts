import { Readable } from 'node:stream';
import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { created, defineRoute, noContent, ok, type Route } from '../../src/http/define-route.ts';
import { CHECK_PREFIX, LIMIT_COUNTED_HEADER, ROUTE_HEADER } from '../../src/http/gateway-protocol.ts';
import { listBody, listOf, pageQuery, toPageRequest } from '../../src/http/pagination.ts';
import { createServer } from '../../src/http/server.ts';
import { idParams } from '../../src/http/validation.ts';
import { type Caller, GUEST, SESSION_ONLY } from '../../src/kernel/caller.ts';
import { MINUTE_MS } from '../../src/kernel/clock.ts';
import { badRequest, forbidden, message, unavailable } from '../../src/kernel/error.ts';
import { createHealth } from '../../src/kernel/health.ts';
import { createLog } from '../../src/kernel/log.ts';
import { createMetrics } from '../../src/kernel/metrics.ts';
import type { Permission } from '../../src/kernel/permissions.ts';
import { rateLimited } from '../../src/kernel/rate-limit.ts';
import { sleep } from '../../src/kernel/timing.ts';
import { CALLER_HEADER } from '../../src/process-identity/caller-context.ts';
import { gatewayContext, strangerSigner, testSigner } from '../../src/testing/harness.ts';
import { ManualClock } from '../../src/testing/manual-clock.ts';

const LONG_TEXT = 'a long text, '.repeat(500);

const member: Caller = {
  kind: 'user',
  userId: 7,
  permissions: new Set(['posts.view']),
  tokenId: 't1',
  tokenKind: 'session',
};

const thing = z.object({ id: z.int(), name: z.string() }).meta({ id: 'Thing' });
let bodiesRead = 0;
const lines: Record<string, unknown>[] = [];
const PUBLIC = 'public, max-age=1, stale-while-revalidate=5';

const routes: Route[] = [
  defineRoute({
    method: 'GET',
    path: '/things',
    summary: 'Things',
    tag: 'things',
    access: 'guest',
    query: z.object(pageQuery),
    responses: { 200: listOf(thing) },
    handle: async ({ query, url }) => {
      const request = toPageRequest(query, url);
      const page = { rows: [1], total: 61, next: [1] };
      return ok(
        listBody({
          baseUrl: 'http://api.test',
          url,
          request,
          page,
          data: [{ id: 1, name: 'a', secret: 'x' }],
        }),
      );
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/kinds',
    summary: 'Kinds',
    tag: 'things',
    access: 'guest',
    guestCache: true,
    responses: { 200: z.object({ data: z.array(z.string()) }) },
    handle: async ({ locale }) => ok({ data: [locale] }),
  }),
  ...(['GET', 'POST'] as const).map((method) =>
    defineRoute({
      method,
      path: '/long',
      summary: 'Long',
      tag: 'things',
      access: 'guest',
      responses: { 200: z.object({ text: z.string() }) },
      handle: async () => ok({ text: LONG_TEXT }),
    }),
  ),
  defineRoute({
    method: 'GET',
    path: '/callback',
    summary: 'Callback',
    tag: 'things',
    access: 'guest',
    responses: { 200: z.object({ data: z.string() }), 302: null },
    handle: async () => ok({ data: 'done' }),
  }),
  defineRoute({
    method: 'GET',
    path: '/slow',
    summary: 'Slow',
    tag: 'things',
    access: 'guest',
    responses: { 200: z.object({ data: z.string() }) },
    handle: async () => {
      await sleep(1_050);
      return ok({ data: 'at last' });
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/things',
    summary: 'Create',
    tag: 'things',
    access: 'user',
    permissions: ['posts.view', 'posts.view_all'],
    body: z.object({
      name: z.string().min(2).max(5),
      size: z.int().min(1),
      kind: z.enum(['a', 'b']).optional(),
    }),
    responses: { 201: z.object({ data: thing }) },
    handle: async ({ body, caller }) => {
      bodiesRead += 1;
      return created({ data: { id: caller.userId, name: body.name } });
    },
  }),
  defineRoute({
    method: 'POST',
    path: '/visits',
    summary: 'Visit',
    tag: 'things',
    access: 'guest',
    limit: { name: 'visits', points: 2, windowS: 60 },
    limitPerAddress: true,
    responses: { 204: null },
    handle: async () => noContent(),
  }),
  defineRoute({
    method: 'GET',
    path: '/things/:id',
    summary: 'One',
    tag: 'things',
    access: 'guest',
    params: idParams,
    errorStyle: 'error_code',
    responses: { 200: z.object({ data: thing }) },
    handle: async ({ params }) => {
      if (params.id === 1) throw badRequest('things.odd', message('error.bad_request'));
      if (params.id === 2) throw new TypeError('connection to db-7.internal refused');
      if (params.id === 4) throw unavailable('wallet.GetBalance: db-7.internal refused');
      if (params.id === 5) throw forbidden('the gym of somebody else');
      if (params.id === 3) throw rateLimited({ allowed: false, limit: 10, remaining: 0, resetS: 7 });
      return ok({ data: { id: params.id, name: 'x' } });
    },
  }),
  defineRoute({
    method: 'DELETE',
    path: '/things/:id',
    summary: 'Delete',
    tag: 'things',
    access: 'user',
    permissions: ['roles.manage'],
    limit: { name: 'things', points: 2, windowS: 60 },
    params: idParams,
    responses: { 204: null },
    handle: async () => noContent(),
  }),
  defineRoute({
    method: 'POST',
    path: '/things/count',
    summary: 'Count',
    tag: 'things',
    access: 'guest',
    produces: ['application/octet-stream'],
    responses: { 204: null },
    handle: async () => noContent(),
  }),
  defineRoute({
    method: 'POST',
    path: '/things/own',
    summary: 'What asks for no permission',
    tag: 'things',
    access: 'user',
    body: z.object({ name: z.string() }),
    responses: { 204: null },
    handle: async () => noContent(),
  }),
  defineRoute({
    method: 'POST',
    path: '/auth/things',
    summary: 'What anybody may send',
    tag: 'things',
    access: 'guest',
    body: z.object({ name: z.string() }),
    responses: { 204: null },
    handle: async () => noContent(),
  }),
  defineRoute({
    method: 'POST',
    path: '/things/long',
    summary: 'What takes a long text',
    tag: 'things',
    access: 'user',
    bodyLimitBytes: 128 * 1024,
    body: z.object({ name: z.string() }),
    responses: { 204: null },
    handle: async () => noContent(),
  }),
  defineRoute({
    method: 'POST',
    path: '/things/secret',
    summary: 'What only a session may do',
    tag: 'things',
    access: 'user',
    tokenKinds: SESSION_ONLY,
    body: z.object({ name: z.string() }),
    responses: { 204: null },
    handle: async () => noContent(),
  }),
  defineRoute({
    method: 'POST',
    path: '/things/ours',
    summary: 'What asks for one of two permissions and a third',
    tag: 'things',
    access: 'guest',
    permissions: ['posts.view', 'posts.view_all'],
    alsoNeeds: ['payments.view_own'],
    body: z.object({ name: z.string() }),
    responses: { 204: null },
    handle: async () => noContent(),
  }),
  defineRoute({
    method: 'POST',
    path: '/things/fields',
    summary: 'Fields that need separate permissions',
    tag: 'things',
    access: 'user',
    permissions: ['posts.view', 'posts.view_all'],
    fieldPermissions: { price: 'payments.view_all', owner: 'posts.view_all' },
    body: z.object({ name: z.string(), price: z.int().optional(), owner: z.int().optional() }),
    responses: { 204: null },
    handle: async () => noContent(),
  }),
  defineRoute({
    method: 'POST',
    path: '/things/checked',
    summary: 'Fields that are checked besides their schemas',
    tag: 'things',
    access: 'guest',
    idempotent: true,
    body: z.object({ name: z.string().min(3), size: z.int(), note: z.string().optional() }),
    checkBody: async ({ name, size }, { caller }) => ({
      name: name === caller.kind ? message('validation.taken') : undefined,
      size: size === 7 ? message('validation.unknown') : undefined,
    }),
    responses: { 204: null },
    handle: async () => noContent(),
  }),
];

let app: FastifyInstance;
const pointsUsed = new Map<string, number>();

beforeAll(async () => {
  app = await createServer({
    service: 'test',
    routes,
    signer: testSigner('wallet'),
    limiter: {
      consume: async (limit, key) => {
        const used = (pointsUsed.get(key) ?? 0) + 1;
        pointsUsed.set(key, used);
        return {
          allowed: used <= limit.points,
          limit: limit.points,
          remaining: Math.max(0, limit.points - used),
          resetS: 9,
        };
      },
    },
    health: createHealth(),
    metrics: createMetrics('test', { defaults: false }),
    log: createLog({ service: 'test', destination: { write: (line) => lines.push(JSON.parse(line)) } }),
    uuid: () => 'generated-id',
  });
  await app.ready();
});

afterAll(() => app.close());

const send = async (
  method: 'GET' | 'POST' | 'DELETE' | 'PUT',
  path: string,
  {
    caller = GUEST as Caller,
    headers = {},
    payload,
  }: { caller?: Caller; headers?: Record<string, string>; payload?: string | Buffer | Readable } = {},
) => {
  const context = gatewayContext('wallet', caller);
  return app.inject({
    method,
    url: `/api/v1${path}`,
    headers: { [CALLER_HEADER]: context, ...headers },
    ...(payload === undefined ? {} : { payload }),
  });
};

const json = { 'content-type': 'application/json' };

describe('the order of the checks', () => {
  test('an unsigned request is rejected with 401 even on a public route', async () => {
    const answer = await app.inject({ method: 'GET', url: '/api/v1/things' });
    expect(answer.statusCode).toBe(401);
  });

  test('a request that the gateway forwarded too late gets 503, not 401, which would sign the user out', async () => {
    const clock = new ManualClock(new Date(Date.now() - MINUTE_MS));
    const late = testSigner('gateway', clock);
    for (const caller of [member, GUEST]) {
      const headers = { [CALLER_HEADER]: late.sign('wallet', caller) };
      const answer = await app.inject({ method: 'GET', url: '/api/v1/things', headers });
      expect([answer.statusCode, answer.headers['retry-after']]).toEqual([503, '5']);
    }
  });

  test.each([
    ['with another key', () => strangerSigner('gateway').sign('wallet', member)],
    ['for another service', () => testSigner('gateway').sign('content', member)],
    ['by another process than the gateway', () => testSigner('content').sign('wallet', member)],
  ])('a request that was signed %s is rejected with 401', async (_how, sign) => {
    const headers = { [CALLER_HEADER]: sign() };
    expect((await app.inject({ method: 'GET', url: '/api/v1/things', headers })).statusCode).toBe(401);
  });

  test('only the 429 reveals the limit of a route for guests, because others share it', async () => {
    for (const caller of [GUEST, member]) {
      const { statusCode, headers } = await send('POST', '/visits', { caller });
      expect([statusCode, headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']]).toEqual([
        204,
        undefined,
        undefined,
      ]);
    }
    const limited = await send('POST', '/visits');
    expect([limited.statusCode, limited.headers['x-ratelimit-limit']]).toEqual([429, '2']);
  });

  test('401 comes before the limit, the limit before the permission, the permission before the body', async () => {
    expect((await send('DELETE', '/things/5')).statusCode).toBe(401);
    for (const expected of [403, 403, 429]) {
      expect((await send('DELETE', '/things/5', { caller: member })).statusCode).toBe(expected);
    }
    const limited = await send('DELETE', '/things/5', { caller: member });
    expect(limited.headers).toMatchObject({
      'retry-after': '9',
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '0',
    });
    const forbidden = await send('POST', '/things', {
      caller: { ...member, permissions: new Set() },
      headers: json,
      payload: '{broken',
    });
    expect(forbidden.statusCode).toBe(403);
  });
});

describe('access before the body is read', () => {
  const statusFor = async (path: string, caller: Caller): Promise<number> => {
    const { statusCode } = await send('POST', path, { caller, headers: json, payload: '{broken' });
    return statusCode;
  };

  test.each(['oauth', 'restricted'] as const)(
    'a token of kind %s gets 403 on a route that requires sign-in but no permission',
    async (tokenKind) => {
      expect(await statusFor('/things/own', { ...member, tokenKind })).toBe(403);
      expect(await statusFor('/things/own', { ...member, tokenKind: 'personal' })).toBe(400);
      expect(await statusFor('/things/own', member)).toBe(400);
      expect(await statusFor('/things', { ...member, tokenKind })).toBe(400);
      expect((await send('GET', '/things', { caller: { ...member, tokenKind } })).statusCode).toBe(200);
    },
  );

  test('a route that declares its kinds of tokens returns 403 for every other kind', async () => {
    expect(await statusFor('/things/secret', member)).toBe(400);
    for (const tokenKind of ['personal', 'restricted', 'oauth'] as const)
      expect([tokenKind, await statusFor('/things/secret', { ...member, tokenKind })]).toEqual([
        tokenKind,
        403,
      ]);
  });

  test('`alsoNeeds` returns 401 for a guest and 403 without the permission', async () => {
    expect(await statusFor('/things/ours', GUEST)).toBe(401);
    expect(await statusFor('/things/ours', member)).toBe(403);
    const payer = { ...member, permissions: new Set(['payments.view_own'] as const) };
    expect(await statusFor('/things/ours', payer)).toBe(403);
    const both = { ...member, permissions: new Set(['posts.view', 'payments.view_own'] as const) };
    expect(await statusFor('/things/ours', both)).toBe(400);
  });
});

describe('the check of the headers alone', () => {
  const check = async (
    method: 'POST' | 'DELETE',
    path: string,
    caller: Caller,
    headers: Record<string, string> = {},
  ) => {
    const context = gatewayContext('wallet', caller);
    const url = `${CHECK_PREFIX}/api/v1${path}`;
    return app.inject({ method, url, headers: { [CALLER_HEADER]: context, ...headers } });
  };

  test('the header check responds like the route before the body, and 204 where the body decides', async () => {
    const nobody: Caller = { ...member, permissions: new Set() };
    for (const [path, caller, status] of [
      ['/things', GUEST, 401],
      ['/things', nobody, 403],
      ['/things/own', { ...member, tokenKind: 'oauth' }, 403],
      ['/things/ours', GUEST, 401],
    ] as const) {
      const [checked, sent] = [await check('POST', path, caller), await send('POST', path, { caller })];
      expect([checked.statusCode, checked.body]).toEqual([status, sent.body]);
      expect(checked.headers[ROUTE_HEADER]).toBe(`/api/v1${path}`);
    }
    const read = bodiesRead;
    expect((await check('POST', '/things', member)).statusCode).toBe(204);
    expect(bodiesRead).toBe(read);
  });

  test('the header check consumes the limit of the route, and the request itself does not', async () => {
    pointsUsed.clear();
    const caller: Caller = { ...member, permissions: new Set(['roles.manage']) };
    const counted = { [LIMIT_COUNTED_HEADER]: '1' };
    const statuses = [];
    for (let time = 0; time < 3; time += 1) {
      statuses.push((await check('DELETE', '/things/5', caller)).statusCode);
      statuses.push((await send('DELETE', '/things/5', { caller, headers: counted })).statusCode);
    }
    expect(statuses).toEqual([204, 204, 204, 204, 429, 204]);
    pointsUsed.clear();
  });

  test('the header check returns 404 for a path without a route, and is not in the API document', async () => {
    expect((await check('POST', '/nothing', member)).headers).not.toHaveProperty(ROUTE_HEADER);
    const { body } = await app.inject({ method: 'GET', url: '/internal/openapi.json' });
    expect(body).not.toContain(CHECK_PREFIX);
  });
});

describe('a field with a separate permission', () => {
  const post = async (caller: Caller, payload: unknown) => {
    const headers = { [CALLER_HEADER]: gatewayContext('wallet', caller), 'content-type': 'application/json' };
    const url = '/api/v1/things/fields';
    return app.inject({ method: 'POST', url, headers, payload: JSON.stringify(payload) });
  };
  const holder = (...permissions: Permission[]): Caller => ({ ...member, permissions: new Set(permissions) });

  test('a field without its permission gets 403 for any value, and with it 422 for a wrong value', async () => {
    for (const price of [1, 'x', null, [], {}])
      for (const more of [{}, { name: 'a' }, { name: 5 }])
        expect((await post(member, { ...more, price })).statusCode).toBe(403);
    expect(
      (await post(holder('posts.view', 'payments.view_all'), { name: 'a', price: 'x' })).statusCode,
    ).toBe(422);
    expect((await post(holder('posts.view', 'payments.view_all'), { name: 'a', price: 1 })).statusCode).toBe(
      204,
    );
    expect((await post(member, { name: 'a' })).statusCode).toBe(204);
    expect((await post(member, { name: 5 })).statusCode).toBe(422);
    for (const body of [null, [], ['price'], 'price', 5])
      expect((await post(member, body)).statusCode).toBe(422);
  });

  test("a field's 403 names an app's scopes, and tells staff to set up a second factor", async () => {
    const app = {
      ...holder('posts.view'),
      tokenKind: 'oauth',
      grantable: new Set<Permission>(['payments.view_all', 'posts.view_all']),
    } as Caller;
    const scopes = async (body: object) => (await post(app, body)).headers['www-authenticate'];
    expect(await scopes({ price: 1 })).toContain('scope="posts.view payments.view_all"');
    expect(await scopes({ price: 1, owner: 1 })).toContain(
      'scope="posts.view payments.view_all posts.view_all"',
    );
    const staff = { ...member, withheld: new Set<Permission>(['payments.view_all']) } as Caller;
    expect(JSON.parse((await post(staff, { price: 1 })).body).code).toBe('auth.second_factor_required');
  });
});

describe('the challenge of a 403', () => {
  const challengeOf = async (method: 'POST' | 'DELETE', path: string, caller: Caller): Promise<unknown> => {
    pointsUsed.clear();
    const { statusCode, headers } = await send(method, path, { caller });
    expect(statusCode).toBe(403);
    return headers['www-authenticate'];
  };
  const app = (...scopes: Permission[]): Caller => ({
    ...member,
    tokenKind: 'oauth',
    permissions: new Set(scopes),
    grantable: new Set(
      (['posts.view', 'posts.view_all', 'payments.view_own'] as const).filter((one) => !scopes.includes(one)),
    ),
  });
  const needs = (scope: string): string => `Bearer error="insufficient_scope", scope="${scope}"`;

  test('the challenge names all scopes that the route needs (RFC 6750), and those of the app', async () => {
    expect(await challengeOf('POST', '/things', app())).toBe(needs('posts.view'));
    expect(await challengeOf('POST', '/things/ours', app())).toBe(needs('posts.view payments.view_own'));
    expect(await challengeOf('POST', '/things/ours', app('posts.view_all'))).toBe(
      needs('posts.view_all payments.view_own'),
    );
    expect(await challengeOf('POST', '/things/ours', app('payments.view_own'))).toBe(
      needs('posts.view payments.view_own'),
    );
  });

  test('the challenge is missing where no scope would help', async () => {
    // A permission that no app can get, and routes that admit no apps.
    expect(await challengeOf('DELETE', '/things/5', app('posts.view'))).toBeUndefined();
    expect(await challengeOf('POST', '/things/own', app('posts.view'))).toBeUndefined();
    expect(await challengeOf('POST', '/things/secret', app('posts.view'))).toBeUndefined();
  });

  test("the challenge is missing where the user's roles lack the permission", async () => {
    const caller = { ...app(), grantable: new Set<Permission>(['payments.view_own']) };
    expect(await challengeOf('POST', '/things', caller)).toBeUndefined();
    expect(await challengeOf('POST', '/things/ours', caller)).toBeUndefined();
  });

  test.each(['session', 'personal', 'restricted'] as const)(
    'the challenge is missing for a token of kind %s, which cannot get more scopes',
    async (tokenKind) => {
      const caller = { ...member, tokenKind, permissions: new Set<Permission>() };
      expect(await challengeOf('POST', '/things/ours', caller)).toBeUndefined();
    },
  );
});

describe('a permission that is withheld until its user has a second factor', () => {
  const EXPLAINED = {
    message:
      'Roles with operator permissions require two-factor authentication. Turn it on (POST /auth/second-factor) and try again.',
    code: 'auth.second_factor_required',
  };
  const PLAIN = { message: 'You do not have permission to do this.' };
  const staff = (...withheld: Permission[]): Caller => ({
    ...member,
    permissions: new Set(['posts.view']),
    withheld: new Set(withheld),
  });
  const refusalOf = async (method: 'GET' | 'POST' | 'DELETE', path: string, caller: Caller) => {
    pointsUsed.clear();
    const { statusCode, body } = await send(method, path, { caller });
    expect(statusCode).toBe(403);
    return JSON.parse(body);
  };

  test('a withheld permission is named by the 403 of a route that needs it, and of no other', async () => {
    expect(await refusalOf('DELETE', '/things/5', staff('roles.manage'))).toEqual(EXPLAINED);
    expect(await refusalOf('DELETE', '/things/5', staff('users.delete'))).toEqual(PLAIN);
    expect(await refusalOf('DELETE', '/things/5', member)).toEqual(PLAIN);
    expect(await refusalOf('POST', '/things/ours', staff('payments.view_own'))).toEqual(EXPLAINED);
    expect(await refusalOf('POST', '/things/ours', staff('payments.view_all'))).toEqual(PLAIN);
    const restricted = { ...staff('roles.manage'), tokenKind: 'restricted' } as const;
    expect(await refusalOf('POST', '/things/own', restricted)).toEqual(PLAIN);
  });

  test('a withheld permission is named by every 403 of a use case, which cannot know the reason', async () => {
    expect(await refusalOf('GET', '/things/5', staff('gyms.update_any'))).toEqual(EXPLAINED);
    expect(await refusalOf('GET', '/things/5', staff())).toEqual(PLAIN);
    expect(await refusalOf('GET', '/things/5', member)).toEqual(PLAIN);
  });
});

test('a limit taken inside the handler has the same headers', async () => {
  const answer = await send('GET', '/things/3');
  expect(answer.statusCode).toBe(429);
  expect(answer.headers).toMatchObject({
    'retry-after': '7',
    'x-ratelimit-limit': '10',
    'x-ratelimit-remaining': '0',
  });
});

describe('bad input', () => {
  test.each<[string, object, string, string[]]>([
    ['a schema and a check', { name: 'x', size: 7 }, 'key', ['name', 'size']],
    ['two checks', { name: 'guest', size: 7, note: null }, 'key', ['name', 'note', 'size']],
    ['a check and a missing field', { name: 'guest' }, 'key', ['name', 'size']],
    ['a check and the key', { name: 'guest', size: 1 }, 'no key', ['idempotency_key', 'name']],
    ['no object', [], 'no key', ['body', 'idempotency_key']],
    ['nothing', { name: 'member', size: 1 }, 'key', []],
  ])('one 422 names the fields that fail %s', async (_what, body, key, fields) => {
    const headers = { ...json, 'idempotency-key': key };
    const answer = await send('POST', '/things/checked', { headers, payload: JSON.stringify(body) });
    const errors = answer.body === '' ? {} : answer.json().errors;
    expect([answer.statusCode, Object.keys(errors).toSorted()]).toEqual([
      fields.length === 0 ? 204 : 422,
      fields,
    ]);
  });

  test('a 422 names every invalid field in the requested language', async () => {
    const answer = await send('POST', '/things', {
      caller: member,
      headers: { ...json, 'accept-language': 'zxx, fa-IR;q=0.9, en;q=0.5' },
      payload: JSON.stringify({ name: 'x', size: 1.5, kind: 'c' }),
    });
    expect(answer.statusCode).toBe(422);
    expect(answer.headers['content-language']).toBe('fa');
    expect(Object.keys(answer.json().errors)).toEqual(['name', 'size', 'kind']);
    expect(answer.json().errors.name[0]).toContain('۲ کاراکتر');
  });

  test('null is a body, and not a missing one', async () => {
    const answer = await send('POST', '/things', { caller: member, headers: json, payload: 'null' });
    expect([answer.statusCode, Object.keys(answer.json().errors)]).toEqual([422, ['body']]);
  });

  test('a missing body is reported as all required fields', async () => {
    const answer = await send('POST', '/things', { caller: member });
    expect(answer.json()).toEqual({
      message: 'Some of the information is not valid. Check it and try again.',
      errors: { name: ['This field is required.'], size: ['This field is required.'] },
    });
  });

  test.each([
    ['without a media type', {}],
    ['of JSON', json],
    ['of another media type', { 'content-type': 'application/x-www-form-urlencoded' }],
  ])('an empty body %s is a missing one', async (_what, headers) => {
    const answer = await send('POST', '/things', { caller: member, headers, payload: Buffer.alloc(0) });
    expect([answer.statusCode, Object.keys(answer.json().errors ?? {})]).toEqual([422, ['name', 'size']]);
  });

  test.each(['page=', 'page=&per_page=&cursor=', 'page=&page=', 'page=&page=1', 'unknown='])(
    'an empty query parameter is treated as absent: %s',
    async (query) => {
      const answer = await send('GET', `/things?${query}`);
      expect([answer.statusCode, answer.json().meta?.current_page]).toEqual([200, 1]);
    },
  );

  test('two non-empty values of a query parameter are both used', async () => {
    const answer = await send('GET', '/things?page=1&page=&page=2');
    expect([answer.statusCode, Object.keys(answer.json().errors ?? {})]).toEqual([422, ['page']]);
  });

  test.each([
    ['malformed JSON', json, '{"a":', 400],
    ['bytes that are not UTF-8', json, Buffer.from([0x22, 0xff, 0x22]), 400],
    ['a prototype in the body', json, '{"__proto__":{"a":1}}', 400],
    ['a constructor with a prototype', json, '{"constructor":{"prototype":{"a":1}}}', 400],
    ['UTF-16', json, Buffer.from('{"name":"abc","size":1}', 'utf16le'), 400],
    ['a number that is none', json, '{"name":"abc","size":NaN}', 400],
    ['JSON with something behind it', json, '{"name":"abc","size":1}}', 400],
    ['only white space', json, '   ', 400],
    ['33 nested lists', json, `${'['.repeat(33)}${']'.repeat(33)}`, 400],
    ['32 nested lists with the wrong type', json, `${'['.repeat(32)}${']'.repeat(32)}`, 422],
    ['lists that are never closed', json, '['.repeat(60_000), 400],
    ['a compressed body', { ...json, 'content-encoding': 'gzip' }, gzipSync('{"name":"abc","size":1}'), 415],
    ['a content coding after identity', { ...json, 'content-encoding': 'identity, br' }, '{}', 415],
    ['an encrypted body', { ...json, 'content-encoding': 'aes128gcm' }, '{"name":"abc","size":1}', 415],
    ['a number that a double cannot represent', json, '{"name":"abc","size":9007199254740993}', 422],
    ['an infinite number', json, '{"name":"abc","size":1e999}', 422],
    ['text that pretends to be an object', json, '{"name":{"length":3},"size":1}', 422],
    ['a media type that only begins like JSON', { 'content-type': 'application/jsonx' }, '{}', 415],
    ['an invalid media type', { 'content-type': ';' }, '{}', 415],
    ['another media type', { 'content-type': 'text/plain' }, 'hello', 415],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }, 'a=1', 415],
    ['more than 64 KiB', json, JSON.stringify({ name: 'x'.repeat(65_536) }), 413],
    ['a list', json, '[]', 422],
    ['a number', json, '7', 422],
    ['null', json, 'null', 422],
  ])('a body is refused: %s', async (_name, headers, payload, status) => {
    const before = bodiesRead;
    const answer = await send('POST', '/things', { caller: member, headers, payload });
    expect(answer.statusCode).toBe(status);
    expect(answer.json().message).toEqual(expect.any(String));
    expect(bodiesRead).toBe(before);
  });

  test.each([
    ['/things', 64 * 1024, 201],
    ['/things', 64 * 1024 + 1, 413],
    ['/auth/things', 16 * 1024, 204],
    ['/auth/things', 16 * 1024 + 1, 413],
    ['/things/long', 128 * 1024, 204],
    ['/things/long', 128 * 1024 + 1, 413],
  ])('JSON for %s of %i bytes is %i, whether or not its length is declared', async (path, length, status) => {
    const payload = '{"name":"abc","size":1}'.padEnd(length);
    const answer = await send('POST', path, { caller: member, headers: json, payload });
    expect(answer.statusCode).toBe(status);
    const chunked = await send('POST', path, {
      caller: member,
      headers: { ...json, 'transfer-encoding': 'chunked' },
      payload: Readable.from([payload.slice(0, 9), payload.slice(9)]),
    });
    expect(chunked.statusCode).toBe(status);
  });

  test('a 415 for a content coding names the one that is accepted', async () => {
    const headers = { ...json, 'content-encoding': 'gzip' };
    const answer = await send('POST', '/things', { caller: member, headers, payload: gzipSync('{}') });
    expect([answer.headers['accept-encoding'], answer.json()]).toEqual([
      'identity',
      { message: 'This Content-Encoding is not supported. Send the body without it.' },
    ]);
  });

  test('a caller without access is refused whatever the coding of the body', async () => {
    const headers = { ...json, 'content-encoding': 'gzip' };
    const nobody = { ...member, permissions: new Set<Permission>() };
    const refused = await send('POST', '/things', { caller: nobody, headers, payload: gzipSync('{}') });
    expect(refused.statusCode).toBe(403);
  });

  test.each([
    ['with a byte order mark', json, '\ufeff{"name":"abc","size":1}'],
    ['with a name twice: the last counts', json, '{"name":7,"name":"abc","size":1}'],
    ['with names that every object knows', json, '{"name":"abc","size":1,"constructor":7,"toString":null}'],
    [
      'in 32 objects, as an unknown field',
      json,
      `{"name":"abc","size":1,"more":${'{"a":'.repeat(31)}1${'}'.repeat(32)}`,
    ],
    ['with brackets in a string', json, `{"name":"abc","size":1,"more":"\\"${'['.repeat(1_000)}"}`],
    ['in the coding of none', { ...json, 'content-encoding': 'Identity' }, '{"name":"abc","size":1}'],
    ['with a charset', { 'content-type': 'Application/JSON; charset=UTF-8' }, '{"name":"abc","size":1.0}'],
  ])('JSON %s is read', async (_name, headers, payload) => {
    const answer = await send('POST', '/things', { caller: member, headers, payload });
    expect([answer.statusCode, answer.json()]).toEqual([201, { data: { id: 7, name: 'abc' } }]);
  });

  test.each(['abc', '0', '-1', '1.5', '1e3', '99999999999999999999'])(
    'a path id %s is rejected with 404',
    async (id) => {
      expect((await send('GET', `/things/${id}`)).statusCode).toBe(404);
    },
  );

  test('another method of a known path is rejected with 405 and `Allow`', async () => {
    const answer = await send('PUT', '/things/1');
    expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'GET, DELETE']);
  });

  test.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    '%s of a path with a name is rejected with 405, and the name is not treated as an id',
    async (method) => {
      const answer = await send(method as 'GET', '/things/count');
      expect([answer.statusCode, answer.headers.allow]).toEqual([405, 'POST']);
    },
  );

  test.each([
    ['/things', 'GET, POST'],
    ['/things/1', 'GET, DELETE'],
  ])('OPTIONS of %s returns 405: pages of other origins are not clients', async (path, allowed) => {
    const answer = await send('OPTIONS' as 'GET', path);
    expect([answer.statusCode, answer.headers.allow]).toEqual([405, allowed]);
  });
});

describe('a read', () => {
  const read = async (path: string, caller: Caller, headers: Record<string, string> = {}) =>
    send('GET', path, { caller, headers });

  test.each([
    ['a guest', '/things', GUEST, 'private, no-cache'],
    ['a user', '/things', member, 'private, no-cache'],
    ['a guest, where guests may be shown what is some seconds old', '/kinds', GUEST, PUBLIC],
    ['a user there', '/kinds', member, 'private, no-cache'],
  ])('a read of %s has ETag, Vary and Cache-Control', async (_who, path, caller, cacheControl) => {
    const answer = await read(path, caller);
    expect([answer.statusCode, answer.headers]).toEqual([
      200,
      expect.objectContaining({
        etag: expect.stringMatching(/^W\/"[\w-]{27}"$/),
        vary: 'Authorization, Accept-Encoding, Accept-Language, Origin',
        'cache-control': cacheControl,
      }),
    ]);
  });

  test('a read in another language has different content and a different ETag', async () => {
    const answers = await Promise.all([
      read('/kinds', GUEST),
      read('/kinds', GUEST, { 'accept-language': 'fa' }),
      read('/kinds', GUEST, { 'accept-language': 'en' }),
    ]);
    const [first, persian, english] = answers.map(({ headers }) => headers.etag);
    expect([persian === first, english === first]).toEqual([false, true]);
  });

  test.each(['GET', 'HEAD'] as const)(
    'a read with its ETag returns 304 without a body: %s',
    async (method) => {
      const { headers } = await read('/kinds', GUEST);
      const etag = String(headers.etag);
      for (const ifNoneMatch of [etag, etag.slice(2), `"x", ${etag}`, '*']) {
        const answer = await app.inject({
          method,
          url: '/api/v1/kinds',
          headers: { [CALLER_HEADER]: gatewayContext('wallet', GUEST), 'if-none-match': ifNoneMatch },
        });
        expect([ifNoneMatch, answer.statusCode, answer.body]).toEqual([ifNoneMatch, 304, '']);
        expect(answer.headers).toMatchObject({ etag, vary: headers.vary, 'cache-control': PUBLIC });
        expect(answer.headers['content-type']).toBeUndefined();
      }
      expect((await read('/kinds', GUEST, { 'if-none-match': '"x"' })).statusCode).toBe(200);
    },
  );

  describe('a response of more than 1 KiB', () => {
    const coded = (coding: string, more: Record<string, string> = {}) =>
      read('/long', GUEST, { 'accept-encoding': coding, ...more });
    const text = JSON.stringify({ text: LONG_TEXT });

    test.each([
      ['gzip', gunzipSync],
      ['br', brotliDecompressSync],
    ] as const)('a long response is compressed by %s, with a separate ETag', async (coding, decode) => {
      const [plain, answer] = [await read('/long', GUEST), await coded(coding)];
      expect(answer.headers).toMatchObject({
        'content-encoding': coding,
        'content-length': String(answer.rawPayload.length),
        vary: 'Authorization, Accept-Encoding, Accept-Language, Origin',
        etag: String(plain.headers.etag).replace(/"$/, `-${coding}"`),
      });
      expect(answer.rawPayload.length).toBeLessThan(text.length / 4);
      expect(decode(answer.rawPayload).toString()).toBe(text);
      const cached = await coded(coding, { 'if-none-match': String(answer.headers.etag) });
      expect([cached.statusCode, cached.headers.etag]).toEqual([304, answer.headers.etag]);
      const other = await coded('identity', { 'if-none-match': String(answer.headers.etag) });
      expect([other.statusCode, other.body]).toEqual([200, text]);
    });

    test('a header of more than 200 characters is ignored', async () => {
      const header = (length: number) => `gzip${', x'.repeat(length)}`.slice(0, length);
      expect((await coded(header(200))).headers['content-encoding']).toBe('gzip');
      expect((await coded(header(201))).headers['content-encoding']).toBeUndefined();
    });

    test.each([['identity'], [''], ['zstd'], ['gzip;q=0, br;q=0'], ['gzip;q=x;;, ,']])(
      'a response is not compressed for a client that accepts "%s"',
      async (header) => {
        const answer = await coded(header);
        expect([answer.statusCode, answer.headers['content-encoding'], answer.body]).toEqual([
          200,
          undefined,
          text,
        ]);
      },
    );
  });

  test('short and uncacheable responses are not compressed: they may have a token', async () => {
    const headers = { 'accept-encoding': 'gzip, br' };
    expect((await read('/kinds', GUEST, headers)).headers['content-encoding']).toBeUndefined();
    const payload = { headers: { ...json, ...headers }, payload: '{}' };
    const answer = await send('POST', '/long', { caller: GUEST, ...payload });
    expect([answer.statusCode, answer.headers['content-encoding'], answer.json()]).toEqual([
      200,
      undefined,
      { text: LONG_TEXT },
    ]);
  });

  test('a read without access is rejected with 401, whatever the ETag', async () => {
    const answer = await app.inject({
      method: 'GET',
      url: '/api/v1/kinds',
      headers: { 'if-none-match': '*' },
    });
    expect([answer.statusCode, answer.headers['cache-control'], answer.headers.etag]).toEqual([
      401,
      'no-store',
      undefined,
    ]);
  });

  test.each([
    ['GET', '/things/2', GUEST],
    ['GET', '/things/0', GUEST],
    ['POST', '/things', member],
  ] as const)('only a successful read may be cached: %s %s', async (method, path, caller) => {
    const payload = method === 'POST' ? { headers: json, payload: '{"name":"abc","size":1}' } : {};
    const { headers } = await send(method, path, { caller, ...payload });
    expect([headers['cache-control'], headers.etag]).toEqual(['no-store', undefined]);
  });

  test('a callback, which may redirect and has an effect, is not cached', async () => {
    const { statusCode, headers } = await read('/callback', GUEST);
    expect([statusCode, headers['cache-control'], headers.etag]).toEqual([200, 'no-store', undefined]);
  });

  test('the 304 and the ETag of a read are documented', async () => {
    const { paths } = app.swagger() as unknown as {
      paths: Record<string, { get: { responses: Record<string, { headers?: object; content?: object }> } }>;
    };
    const { responses = {} } = paths['/api/v1/kinds']?.get ?? {};
    const header = {
      description: 'Version of this content, for `If-None-Match`',
      schema: { type: 'string' },
    };
    expect([responses[200]?.headers, responses[304]?.headers]).toEqual([{ ETag: header }, { ETag: header }]);
    expect(paths['/api/v1/callback']?.get.responses[304]).toBeUndefined();
  });
});

describe('the log of a service', () => {
  test('the log has no line for a request unless it fails or is slow', async () => {
    lines.length = 0;
    await send('GET', '/things');
    await send('GET', '/things/0');
    expect(lines).toEqual([]);
    await send('GET', '/things/2');
    expect(lines).toEqual([expect.objectContaining({ level: 'error', request_id: 'generated-id' })]);
    await send('GET', '/slow');
    expect(lines[1]).toMatchObject({
      level: 'warn',
      msg: 'slow request',
      route: '/api/v1/slow',
      status: '200',
      request_id: 'generated-id',
      trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
  });
});

describe('responses', () => {
  test('fields that are not declared are removed', async () => {
    const answer = await send('GET', '/things?per_page=500&page=2');
    expect(answer.json().data).toEqual([{ id: 1, name: 'a' }]);
    expect(answer.json().meta).toMatchObject({ per_page: 100, current_page: 2, total: 61, last_page: 1 });
  });

  test('a server error is a 500 without internal details', async () => {
    const answer = await send('GET', '/things/2');
    expect(answer.statusCode).toBe(500);
    expect(answer.body).not.toContain('db-7');
    expect(answer.json()).toEqual({ error: expect.any(String), code: 'internal' });
  });

  test.each([
    ['GET', '/things', 200],
    ['POST', '/things/count', 204],
    ['GET', '/things/1', 400],
    ['DELETE', '/things/9', 401],
    ['GET', '/nowhere', 404],
    ['PUT', '/things/9', 405],
    ['GET', '/things/2', 500],
  ] as const)('%s %s (%i) has the headers of every response', async (method, path, status) => {
    const { statusCode, headers } = await send(method, path, { headers: { 'accept-language': 'fa' } });
    expect(statusCode).toBe(status);
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': status === 200 ? 'private, no-cache' : 'no-store',
      'x-request-id': 'generated-id',
      'content-language': 'fa',
    });
    expect(headers).not.toHaveProperty('x-powered-by');
  });

  test('an unavailable dependency leads to 503 and `Retry-After`', async () => {
    const answer = await send('GET', '/things/4');
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([503, '5']);
    expect(answer.json()).toEqual({ message: expect.not.stringContaining('db-7') });
  });

  test('errors have the error_code style only for 400, 404 and 500', async () => {
    expect((await send('GET', '/things/0')).json()).toEqual({ error: expect.any(String), code: 'not_found' });
    expect((await send('GET', '/things/5')).json()).toEqual({ message: expect.any(String) });
  });

  test('a route with the error_code style returns its code', async () => {
    expect((await send('GET', '/things/1')).json()).toMatchObject({ code: 'things.odd' });
  });

  test('a valid request id is returned, an invalid one is replaced', async () => {
    const echoed = await send('GET', '/things', { headers: { 'x-request-id': 'abc-1' } });
    const replaced = await send('GET', '/things', { headers: { 'x-request-id': 'a b' } });
    expect([echoed.headers['x-request-id'], replaced.headers['x-request-id']]).toEqual([
      'abc-1',
      'generated-id',
    ]);
  });

  test('errors are documented as JSON, whatever the route produces', async () => {
    const document = (await app.inject('/internal/openapi.json')).json();
    const { responses } = document.paths['/api/v1/things/count'].post;
    expect(Object.keys(responses['401'].content)).toEqual(['application/json']);
    expect(responses['401'].content['application/json'].schema).toEqual({
      $ref: '#/components/schemas/Error',
    });
  });

  test('the API document states the maximum body size of each route', async () => {
    const { paths } = (await app.inject('/internal/openapi.json')).json();
    const messages = ['auth/things', 'things', 'things/long'].map(
      (path) => paths[`/api/v1/${path}`].post.responses[413].description,
    );
    expect(messages).toEqual([16, 64, 128].map((size) => `The JSON body is longer than ${size} KiB.`));
  });

  test('the API document is OpenAPI 3.1, made from the schemas that validate requests', async () => {
    const document = (await app.inject('/internal/openapi.json')).json();
    expect(document.openapi).toBe('3.1.0');
    expect(Object.keys(document.paths)).toEqual([
      '/api/v1/things',
      '/api/v1/kinds',
      '/api/v1/long',
      '/api/v1/callback',
      '/api/v1/slow',
      '/api/v1/visits',
      '/api/v1/things/{id}',
      '/api/v1/things/count',
      '/api/v1/things/own',
      '/api/v1/auth/things',
      '/api/v1/things/long',
      '/api/v1/things/secret',
      '/api/v1/things/ours',
      '/api/v1/things/fields',
      '/api/v1/things/checked',
    ]);
    const body = document.paths['/api/v1/things'].post.requestBody.content['application/json'].schema;
    expect(body.properties.name).toMatchObject({ type: 'string', minLength: 2, maxLength: 5 });
    expect(document.paths['/api/v1/things/{id}'].get.parameters).toEqual([
      {
        in: 'path',
        name: 'id',
        required: true,
        schema: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
      },
      {
        in: 'header',
        name: 'if-none-match',
        required: false,
        description: expect.any(String),
        schema: { type: 'string' },
      },
    ]);
    const [page] = document.paths['/api/v1/things'].get.parameters;
    expect(page).toMatchObject({
      in: 'query',
      name: 'page',
      required: false,
      allowEmptyValue: true,
      schema: { type: 'integer', minimum: 1 },
    });
    expect(document.paths['/api/v1/things'].post.requestBody.required).toBe(true);
  });
});
