/** `/mcp` with the SDK's client and stubs of the services. */
import { caller, eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ErrorCode } from '@modelcontextprotocol/sdk/types.js';
import { TOOLS as ALL_TOOLS } from '../src/mcp/tools.ts';
import { allReceived, bearer, type Harness, MEMBER_TOKEN, rawRequest, startHarness } from './support.ts';

let gateway: Harness;
beforeAll(async () => {
  gateway = await startHarness();
});
afterAll(() => gateway.close());
beforeEach(() => gateway.reset());

const connect = async (token = MEMBER_TOKEN, headers: Record<string, string> = {}): Promise<Client> => {
  const client = new Client({ name: 'test', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${token}`, ...headers } },
  });
  // The SDK's types are inconsistent under exactOptionalPropertyTypes.
  await client.connect(transport as Parameters<Client['connect']>[0]);
  return client;
};

const call = async (client: Client, name: string, args: Record<string, unknown> = {}) => {
  const result = await client.callTool({ name, arguments: args });
  return result as { isError?: boolean; structuredContent?: unknown; content: { text: string }[] };
};

const toolNames = async (client: Client): Promise<string[]> =>
  (await client.listTools()).tools.map(({ name }) => name);

const answer = (service: keyof Harness['upstreams'], status: number, body: unknown) => {
  gateway.upstreams[service].handler = (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
};

const PAGE = { data: [{ id: 1 }], links: {}, meta: { total: 1 } };

const TOOLS: [
  string,
  Record<string, unknown>,
  keyof Harness['upstreams'],
  string,
  Record<string, unknown>,
][] = [
  ['get_profile', {}, 'identity', '/api/v1/auth/me', { user: { id: 7 } }],
  ['get_balance', {}, 'wallet', '/api/v1/payments/balance', { balance: 5 }],
  [
    'list_payments',
    { type: 'deposit', is_done: true, page: 2, per_page: 10, order: 'ASC' },
    'wallet',
    '/api/v1/payments?type=deposit&is_done=true&order=ASC&page=2&per_page=10',
    PAGE,
  ],
  ['get_payment', { id: 3 }, 'wallet', '/api/v1/payments/3', { payment: { id: 3 } }],
  [
    'list_posts',
    { type: 'App\\Models\\Gym', item_id: 4, search: 'a&b=c' },
    'content',
    '/api/v1/posts?type=App%5CModels%5CGym&item_id=4&search=a%26b%3Dc',
    PAGE,
  ],
  ['get_post', { id: 4 }, 'content', '/api/v1/posts/4', { data: { id: 4 } }],
  [
    'list_gyms',
    // An empty argument is an empty query parameter, which is treated as absent.
    { near: '35.7,51.4', major_ids: '1,2', search: '', city_id: '' },
    'gyms',
    '/api/v1/gyms?major_ids=1%2C2&near=35.7%2C51.4',
    PAGE,
  ],
  ['get_gym', { id: 5 }, 'gyms', '/api/v1/gyms/5', { gym: { id: 5 } }],
  ['list_training_services', { max_price: 9 }, 'content', '/api/v1/training-services?max_price=9', PAGE],
  ['get_training_service', { id: 6 }, 'content', '/api/v1/training-services/6', { data: { id: 6 } }],
];

describe('a tool', () => {
  let client: Client;
  let english: Client;
  beforeAll(async () => {
    client = await connect(MEMBER_TOKEN, { 'accept-language': 'fa' });
    await client.listTools();
    english = await connect();
  });
  afterAll(() => Promise.all([client.close(), english.close()]));

  test.each(TOOLS)('%s %j calls the API as the caller', async (name, args, service, url, body) => {
    answer(service, 200, body);
    const result = await call(client, name, args);
    expect([result.isError, result.content[0]?.text.slice(0, 200)]).toEqual([undefined, expect.any(String)]);
    expect(result.structuredContent).toEqual(body);
    expect(JSON.parse(result.content[0]?.text ?? '')).toEqual(body);
    expect(allReceived(gateway)).toHaveLength(1);
    const [received] = gateway.upstreams[service].received;
    expect(received).toMatchObject({ method: 'GET', url, caller: { kind: 'user', userId: 7 } });
    expect(received?.headers).toMatchObject({ 'accept-language': 'fa', 'x-client-address': '127.0.0.1' });
    expect(received?.headers.authorization).toBeUndefined();
  });

  test.each([
    ['get_payment', {}],
    ['get_payment', { id: '1/../../users' }],
    ['get_payment', { id: 0 }],
    ['list_posts', { per_page: 101 }],
    ['list_posts', { order: 'RANDOM' }],
    ['list_gyms', { near: 'here' }],
    ['get_payment', { id: null }],
  ])('%s with %j is a protocol error, without calling the API', async (name, args) => {
    await expect(call(client, name, args)).rejects.toMatchObject({ code: ErrorCode.InvalidParams });
    expect(allReceived(gateway)).toEqual([]);
  });

  test.each([
    [
      404,
      { message: 'We could not find what you are looking for.' },
      'We could not find what you are looking for.',
    ],
    [422, { message: 'Invalid.', errors: { page: ['Too far.'] } }, 'Invalid. {"page":["Too far."]}'],
    [429, { message: 'Too many.' }, 'Too many.'],
    [500, {}, 'The API returned 500.'],
  ])('a tool returns the message of an API response of %i', async (status, body, text) => {
    answer('gyms', status, body);
    expect(await call(english, 'get_gym', { id: 1 })).toMatchObject({ isError: true, content: [{ text }] });
  });

  test('a tool returns an error if its service is unavailable', async () => {
    await gateway.upstreams.gyms.stop();
    try {
      const result = await call(english, 'list_gyms');
      expect(result).toMatchObject({ isError: true });
      expect(result.content[0]?.text).toMatch(/is unavailable/);
    } finally {
      await gateway.upstreams.gyms.start();
    }
  });

  test('an unknown tool is a protocol error', async () => {
    await expect(client.callTool({ name: 'delete_everything', arguments: {} })).rejects.toThrow(/no tool/);
  });

  test('list_deletion_blockers returns the caller’s blockers in their language', async () => {
    gateway.blockers.set(7, [
      { code: 'gym_ownership', extras_json: '{"count":2}' },
      { code: 'unsettled_balance', extras_json: '{"balance":-5}' },
      { code: 'of_a_newer_release', extras_json: '{"rows":3}' },
    ]);
    const result = await call(client, 'list_deletion_blockers');
    expect(result.structuredContent).toEqual({
      can_be_deleted: false,
      blockers: [
        { code: 'gym_ownership', message: expect.stringContaining('باشگاه'), count: 2 },
        { code: 'unsettled_balance', message: expect.stringContaining('−۵ تومان'), balance: -5 },
        { code: 'of_a_newer_release', message: 'حساب شما هنوز قابل حذف نیست.', rows: 3 },
      ],
    });
    gateway.blockers.clear();
    expect((await call(client, 'list_deletion_blockers')).structuredContent).toEqual({
      can_be_deleted: true,
      blockers: [],
    });
    expect(allReceived(gateway)).toEqual([]);
  });
});

describe('the list of tools', () => {
  test('the tool list has the tools of the contract, read-only, with input and output schemas', async () => {
    const client = await connect();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([...TOOLS.map(([name]) => name), 'list_deletion_blockers']);
    for (const tool of tools) {
      expect(tool.annotations?.readOnlyHint).toBe(true);
      expect(tool.inputSchema.type).toBe('object');
      expect(tool.outputSchema?.type).toBe('object');
      expect(tool.description).toMatch(/\.$/);
    }
    await client.close();
  });

  test('the tool list has the tools that the token may use at the time of the request', async () => {
    gateway.tokens.set('fpo_narrow', { ...caller(8, ['posts.view']), tokenKind: 'oauth' });
    const client = await connect('fpo_narrow');
    const open = ['get_profile', 'list_gyms', 'get_gym', 'list_training_services', 'get_training_service'];
    expect((await toolNames(client)).sort()).toEqual([...open, 'list_posts', 'get_post'].sort());
    gateway.tokens.set('fpo_narrow', { ...caller(8, ['posts.view']), tokenKind: 'restricted' });
    const refused = await call(client, 'get_balance');
    expect(refused).toMatchObject({ isError: true });
    expect(refused.content[0]?.text).toContain('payments.view_own');
    expect(allReceived(gateway)).toEqual([]);
    gateway.tokens.set('fpo_narrow', { ...caller(8, []), tokenKind: 'oauth' });
    expect((await toolNames(client)).sort()).toEqual(open.sort());
    await client.close();
  });
});

describe('access to /mcp', () => {
  const RESOURCE = 'resource_metadata="https://api.example.com/.well-known/oauth-protected-resource/mcp"';
  const post = (headers: Record<string, string>, body: unknown = { jsonrpc: '2.0', id: 1, method: 'ping' }) =>
    fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });

  test('a request without a token is rejected with 401 and the address of the resource metadata', async () => {
    for (const response of [await post({}), await fetch(`${gateway.url}/mcp`)]) {
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toBe(
        `Bearer ${RESOURCE}, scope="users.view_limited posts.view payments.view_own"`,
      );
    }
  });

  test('a request with an invalid token is rejected with 401', async () => {
    const response = await post(bearer('fpo_unknown'));
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toMatch(
      /^Bearer error="invalid_token", resource_metadata=/,
    );
    expect((await post({ authorization: 'Basic eDp5' })).status).toBe(401);
  });

  test('a tool call without its scope is rejected with 403 and the scopes to request', async () => {
    const grantable = new Set(['payments.view_own'] as const);
    gateway.tokens.set('fpo_narrow', { ...caller(8, ['posts.view']), tokenKind: 'oauth', grantable });
    const params = { name: 'get_balance', arguments: {} };
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    const response = await post(bearer('fpo_narrow'), body);
    expect([response.status, await response.json()]).toEqual([
      403,
      { message: 'You do not have permission to do this.' },
    ]);
    expect(response.headers.get('www-authenticate')).toBe(
      `Bearer error="insufficient_scope", scope="posts.view payments.view_own", ${RESOURCE}`,
    );
    const batch = await post(bearer('fpo_narrow'), [body, { ...body, id: 2 }]);
    expect(batch.status).toBe(200);
    for (const { result } of (await batch.json()) as { result: unknown }[]) {
      expect(result).toMatchObject({ isError: true });
    }
    expect(allReceived(gateway)).toEqual([]);
  });

  test('a tool call whose scope the user cannot grant is refused by the tool, without 403', async () => {
    gateway.tokens.set('fpo_role', { ...caller(8, ['posts.view']), tokenKind: 'oauth' });
    const params = { name: 'get_balance', arguments: {} };
    const response = await post(bearer('fpo_role'), { jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    expect([response.status, response.headers.get('www-authenticate')]).toEqual([200, null]);
    expect(await response.json()).toMatchObject({ result: { isError: true } });
  });

  test('a token for only the API is rejected with 401', async () => {
    const forApi = { ...caller(8), tokenKind: 'oauth', audience: 'https://api.example.com/api/v1' } as const;
    gateway.tokens.set('fpo_api', forApi);
    const response = await post(bearer('fpo_api'));
    expect([response.status, await response.json()]).toEqual([401, { message: 'Sign in to continue.' }]);
    expect(response.headers.get('www-authenticate')).toBe(
      `Bearer error="invalid_token", error_description="The token is for another resource.", ${RESOURCE}`,
    );
    for (const audience of ['https://api.example.com', 'https://api.example.com/mcp']) {
      gateway.tokens.set('fpo_api', { ...forApi, audience });
      expect((await post(bearer('fpo_api'))).status).toBe(200);
    }
  });

  test('a client whose token is revoked gets 401 at its next request', async () => {
    const client = await connect();
    expect(await toolNames(client)).toContain('get_profile');
    gateway.tokens.delete(MEMBER_TOKEN);
    await expect(client.listTools()).rejects.toMatchObject({ code: 401 });
    await expect(call(client, 'get_profile')).rejects.toMatchObject({ code: 401 });
    await client.close();
  });

  test.each([
    'https://evil.example',
    'null',
    'https://api.example.com.evil.example',
    'http://api.example.com',
  ])('a page of %s gets 403, even with a valid token', async (origin) => {
    const response = await post({ ...bearer(), origin });
    expect(response.status).toBe(403);
    expect(gateway.introspections()).toBe(0);
  });

  test('a page of the public origin may call /mcp', async () => {
    expect((await post({ ...bearer(), origin: 'https://api.example.com' })).status).toBe(200);
  });

  test.each(['GET', 'PUT', 'DELETE', 'PATCH'])('a %s returns 405 and Allow: POST', async (method) => {
    const response = await fetch(`${gateway.url}/mcp`, { method, headers: bearer() });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('POST');
  });

  test.each<[string, Record<string, string>, unknown, number]>([
    ['invalid JSON', {}, '{', 400],
    ['a body that is not a message', {}, {}, 400],
    ['an empty body', {}, '', 400],
    ['another type', { 'content-type': 'text/plain' }, 'x', 415],
    ['another accept', { accept: 'text/html' }, { jsonrpc: '2.0', id: 1, method: 'ping' }, 406],
    [
      'an accept that excludes both types',
      { accept: '*/*, application/json;q=0, text/event-stream;q=0.0' },
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      406,
    ],
    [
      'an unknown protocol version',
      { 'mcp-protocol-version': 'x' },
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      400,
    ],
  ])('a request with %s is refused', async (_what, headers, body, status) => {
    expect((await post({ ...bearer(), ...headers }, body)).status).toBe(status);
  });

  test('the 406 says that one of the two types is enough', async () => {
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const response = await post({ ...bearer(), accept: 'text/html' }, ping);
    expect(await response.json()).toEqual({
      jsonrpc: '2.0',
      error: {
        code: -32_000,
        message: 'Not Acceptable: Client must accept application/json or text/event-stream',
      },
      id: null,
    });
  });

  test.each([
    ['*/*', 'application/json'],
    ['application/json', 'application/json'],
    ['application/*;q=0.5', 'application/json'],
    ['text/html, Application/JSON; q=0.1', 'application/json'],
    ['application/json, text/event-stream', 'application/json'],
    ['', 'application/json'],
    [undefined, 'application/json'],
    ['text/event-stream', 'text/event-stream'],
    ['*/*, application/json;q=0', 'text/event-stream'],
  ])('a request with Accept %j gets %s', async (accept, type) => {
    const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }));
    const headers = {
      ...bearer(),
      'content-type': 'application/json',
      'content-length': String(body.length),
      ...(accept === undefined ? {} : { accept }),
    };
    const {
      status,
      headers: answered,
      text,
    } = await rawRequest(gateway.url, '/mcp', {
      method: 'POST',
      headers,
      body,
    });
    expect([status, answered['content-type']]).toEqual([200, type]);
    const json = type === 'application/json' ? text : (/^data: (.*)$/m.exec(text)?.[1] ?? '');
    expect(JSON.parse(json)).toMatchObject({ id: 1, result: { tools: expect.any(Array) } });
  });

  test.each(['ops', 'account_deletion'] as const)(
    'a session of the page %s is rejected with 403',
    async (page) => {
      gateway.tokens.set(MEMBER_TOKEN, { ...caller(7), page });
      const response = await post(bearer(), { jsonrpc: '2.0', id: 1, method: 'tools/list' });
      expect([response.status, allReceived(gateway)]).toEqual([403, []]);
    },
  );

  test('a client may list and call tools without an MCP session', async () => {
    const listed = await post(bearer(), { jsonrpc: '2.0', id: 1, method: 'tools/list' });
    expect(listed.headers.get('content-type')).toBe('application/json');
    expect(((await listed.json()) as { result: { tools: unknown[] } }).result.tools).toHaveLength(11);
    answer('gyms', 200, PAGE);
    const params = { name: 'list_gyms', arguments: {} };
    const called = await post(bearer(), { jsonrpc: '2.0', id: 2, method: 'tools/call', params });
    expect(await called.json()).toMatchObject({ id: 2, result: { structuredContent: PAGE } });
  });

  test('a session id is ignored, because there are no MCP sessions', async () => {
    const response = await post({ ...bearer(), 'mcp-session-id': 'nobody' });
    expect([response.status, response.headers.get('mcp-session-id')]).toEqual([200, null]);
  });

  test('a body over 64 KiB is rejected with 413, and one nested deeper than 32 levels with 400', async () => {
    for (const length of [64 * 1024, 1024 * 1024]) {
      const params = { name: 'get_profile', arguments: { x: 'x'.repeat(length) } };
      const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
      expect((await post(bearer(), call)).status).toBe(413);
    }
    const deep = await post(bearer(), `${'['.repeat(33)}${']'.repeat(33)}`);
    expect([deep.status, await deep.json()]).toEqual([
      400,
      { message: 'The request body is nested too deeply.' },
    ]);
    expect(allReceived(gateway)).toEqual([]);
  });

  test.each<[string, unknown]>([
    ['an invalid name', { name: 5 }],
    ['an inherited property name', { name: '__proto__' }],
    ['a string as arguments', { name: 'get_profile', arguments: 'x' }],
    ['a list as arguments', { name: 'get_profile', arguments: [1] }],
    ['missing arguments', { name: 'get_payment' }],
    ['no parameters', undefined],
  ])('a tool call with %s is an error, without calling the API', async (_what, params) => {
    const response = await post(bearer(), { jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ error: { code: ErrorCode.InvalidParams } });
    expect(allReceived(gateway)).toEqual([]);
  });

  test('a tool call as a task is an error, without calling the API', async () => {
    const params = { name: 'get_profile', task: { ttl: 1_000 } };
    const response = await post(bearer(), { jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    expect(await response.json()).toMatchObject({ error: { code: ErrorCode.InternalError } });
    expect(allReceived(gateway)).toEqual([]);
  });

  test('null is treated as absent for every optional argument of every tool', async () => {
    for (const { name, input } of ALL_TOOLS) {
      const args = Object.entries(input.shape).map(([argument, schema]) => [
        argument,
        schema.safeParse(undefined).success ? null : 1,
      ]);
      const params = { name, arguments: Object.fromEntries(args) };
      const response = await post(bearer(), { jsonrpc: '2.0', id: 1, method: 'tools/call', params });
      const { result } = (await response.json()) as { result?: { isError?: true } };
      expect([name, result !== undefined, result?.isError]).toEqual([name, true, undefined]);
    }
    for (const { url } of allReceived(gateway)) expect(url).not.toContain('?');
  });

  test('a notification is accepted without a response', async () => {
    const response = await post(bearer(), { jsonrpc: '2.0', method: 'notifications/initialized' });
    expect([response.status, await response.text()]).toEqual([202, '']);
  });
});

describe('a batch', () => {
  const callOf = (id: number) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name: 'list_gyms', arguments: {} },
  });
  const send = (messages: unknown[]) =>
    fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...bearer(),
      },
      body: JSON.stringify(messages),
      signal: AbortSignal.timeout(5_000),
    });

  test('a batch of up to 10 messages gets a response per message', async () => {
    answer('gyms', 200, PAGE);
    const response = await send([callOf(1), callOf(2), { jsonrpc: '2.0', method: 'notifications/x' }]);
    const answers = (await response.json()) as { id: number; result: { structuredContent: unknown } }[];
    expect(answers.map(({ id }) => id).toSorted((a, b) => a - b)).toEqual([1, 2]);
    for (const { result } of answers) expect(result.structuredContent).toEqual(PAGE);
    gateway.reset();
    const refused = await send(Array.from({ length: 11 }, (_, id) => callOf(id)));
    expect([refused.status, await refused.json()]).toEqual([
      400,
      {
        jsonrpc: '2.0',
        error: { code: -32600, message: 'A batch has at most 10 messages.' },
        id: null,
      },
    ]);
    expect(allReceived(gateway)).toEqual([]);
  });

  test('a batch makes one call at a time, and checks the token once', async () => {
    let open = 0;
    let most = 0;
    gateway.upstreams.gyms.handler = (_request, response) => {
      open += 1;
      most = Math.max(most, open);
      setTimeout(() => {
        open -= 1;
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(PAGE));
      }, 5);
    };
    const response = await send(Array.from({ length: 10 }, (_, id) => callOf(id)));
    const answers = (await response.json()) as { result: { structuredContent: unknown } }[];
    expect(answers.map(({ result }) => result.structuredContent)).toEqual(Array(10).fill(PAGE));
    expect(most).toBe(1);
    // On a slow machine, the token is checked again after each half second.
    expect(gateway.introspections()).toBeLessThan(6);
  });

  test('a batch whose token is revoked makes no further call', async () => {
    gateway.blockers.set(7, [{ code: 'unsettled_balance', extras_json: '{"balance":5}' }]);
    gateway.upstreams.gyms.handler = (_request, response) => {
      gateway.tokens.delete(MEMBER_TOKEN);
      setTimeout(() => {
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(PAGE));
      }, 700);
    };
    const blockers = { ...callOf(3), params: { name: 'list_deletion_blockers', arguments: {} } };
    const list = { jsonrpc: '2.0', id: 4, method: 'tools/list' };
    const response = await send([callOf(1), callOf(2), blockers, list]);
    const answers = (await response.json()) as { id: number; result: unknown; error: unknown }[];
    const refused = { isError: true, content: [{ type: 'text', text: 'Sign in to continue.' }] };
    expect(answers.toSorted((a, b) => a.id - b.id)).toMatchObject([
      { id: 1, result: { structuredContent: PAGE } },
      { id: 2, result: refused },
      { id: 3, result: refused },
      { id: 4, error: { message: expect.stringContaining('Sign in to continue.') } },
    ]);
    expect(allReceived(gateway)).toHaveLength(1);
  });

  test.each([
    ['before', false],
    ['after', true],
  ])('a call gets its response even if its batch has a cancellation %s it', async (_where, isAfter) => {
    gateway.upstreams.gyms.handler = (_request, response) => {
      setTimeout(() => {
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(PAGE));
      }, 50);
    };
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
    const response = await send(isAfter ? [callOf(1), cancel] : [cancel, callOf(1)]);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ id: 1, result: { structuredContent: PAGE } });
  });
});

test('a user can have at most 32 concurrent POSTs, and other users are not affected', async () => {
  gateway.tokens.set('fps_other', caller(8));
  const waiting: (() => void)[] = [];
  gateway.upstreams.gyms.handler = (_request, response) => {
    waiting.push(() => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
  };
  const message = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'list_gyms', arguments: {} },
  };
  const post = (token: string, body: unknown, signal?: AbortSignal) =>
    fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'accept-language': 'fa',
        ...bearer(token),
      },
      body: JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    });
  const leaving = new AbortController();
  const first = Array.from({ length: 32 }, () => post(MEMBER_TOKEN, message, leaving.signal));
  await eventually(() => waiting.length === 32);
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const refused = await post(MEMBER_TOKEN, ping);
  expect(refused.status).toBe(503);
  expect(((await refused.json()) as { message: string }).message).toMatch(/\p{Script=Arabic}/u);
  expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
  expect((await post('fps_other', ping)).status).toBe(200);
  // Disconnecting frees no place while the calls are still running.
  leaving.abort();
  await Promise.allSettled(first);
  expect((await post(MEMBER_TOKEN, ping)).status).toBe(503);
  for (const answerNow of waiting) answerNow();
  await eventually(async () => (await post(MEMBER_TOKEN, ping)).status === 200);
});

test('twenty concurrent clients receive only their own responses', async () => {
  gateway.upstreams.identity.handler = (request, response) => {
    const [, claims = ''] = String(request.headers['x-caller-context']).split('.');
    const { sub } = JSON.parse(Buffer.from(claims, 'base64url').toString());
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ user: { id: Number(sub) } }));
  };
  const ids = Array.from({ length: 20 }, (_, i) => 100 + i);
  for (const id of ids) gateway.tokens.set(`token-${id}`, caller(id));
  const seen = await Promise.all(
    ids.map(async (id) => {
      const client = await connect(`token-${id}`);
      const { structuredContent } = await call(client, 'get_profile');
      await client.close();
      return (structuredContent as { user: { id: number } }).user.id;
    }),
  );
  expect(seen).toEqual(ids);
});
