/** The sample app: its modules, its content security policy, and the pages that may call the control routes. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Sandbox, startSandbox } from '../src/service.ts';

const API = 'https://api.fitness.example:8443';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ apiUrl: API });
});
afterAll(() => sandbox.close());

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(new URL(path, sandbox.url), { headers });

describe('the sample app', () => {
  test('the sample app calls the gateway that the sandbox was started with', async () => {
    const answer = await get('/app');
    expect(await answer.text()).toContain(`<meta name="api" content="${API}">`);
    const policy = answer.headers.get('content-security-policy');
    expect(policy).toContain(`; connect-src 'self' ${API}; `);
    expect(policy).toContain(`; img-src 'self' ${API}; `);
  });

  test('the sample app runs only its own inline scripts and styles, and files of the sandbox', async () => {
    const answer = await get('/app');
    const html = await answer.text();
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/^default-src 'none'; /);
    expect(policy).not.toContain('unsafe');
    const inline = [...html.matchAll(/<(?:style|script)\b[^>]*>([\s\S]*?)<\/(?:style|script)>/g)];
    expect(inline).toHaveLength(3);
    for (const [, content = ''] of inline)
      expect(policy).toContain(`'sha256-${createHash('sha256').update(content).digest('base64')}'`);
    expect(html).not.toMatch(/\sstyle=|\son\w+=/);
  });

  test('the sample app imports modules that the sandbox serves as JavaScript', async () => {
    const html = await (await get('/app')).text();
    const [, map = ''] = /<script type="importmap">([\s\S]*?)<\/script>/.exec(html) ?? [];
    const { imports } = JSON.parse(map) as { imports: Record<string, string> };
    const open = Object.values(imports).map((path) => new URL(path, sandbox.url).href);
    const seen = new Set(open);
    for (let url = open.pop(); url !== undefined; url = open.pop()) {
      const answer = await fetch(url);
      expect([url, answer.status, answer.headers.get('content-type')]).toEqual([
        url,
        200,
        'text/javascript; charset=utf-8',
      ]);
      const text = await answer.text();
      expect(text).not.toMatch(/^(?:import|export) type |^interface /m);
      for (const [, name = ''] of text.matchAll(/^(?:import|export|\}) .*?from '([^']+)';/gm)) {
        const next = imports[name] ?? new URL(name, url).href;
        const absolute = new URL(next, url).href;
        if (!seen.has(absolute)) open.push(absolute);
        seen.add(absolute);
      }
    }
    expect(seen.size).toBeGreaterThan(4);
  });
});

describe('the control routes', () => {
  const allowedFor = async (origin: string, path = '/_sandbox/sms') =>
    (await get(path, { origin })).headers.get('access-control-allow-origin');

  test.each([API, 'http://127.0.0.1:5173', 'http://localhost:8080', 'http://app.localhost'])(
    'a page of %s may call the control routes',
    async (origin) => expect(await allowedFor(origin)).toBe(origin),
  );

  test.each(['https://evil.example', 'http://127.0.0.1.evil.example', 'null', 'https://api.fitness.example'])(
    'a page of %s may not call the control routes',
    async (origin) => expect(await allowedFor(origin)).toBeNull(),
  );

  test('a page may send JSON to the control routes after a preflight', async () => {
    const answer = await fetch(`${sandbox.url}/_sandbox/store/purchases/t`, {
      method: 'OPTIONS',
      headers: { origin: API, 'access-control-request-method': 'PUT' },
    });
    expect(answer.status).toBe(204);
    expect(answer.headers.get('access-control-allow-methods')).toContain('PUT');
    expect(answer.headers.get('access-control-allow-headers')).toBe('Content-Type');
  });

  test('no page of another origin reads the page of the sandbox', async () => {
    expect(await allowedFor(API, '/')).toBeNull();
    expect(await allowedFor(API, '/_sandbox/page/live.js')).toBeNull();
  });
});
