/** `/account-deletion` in a browser without scripts, with stubs of the services. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { type Browser, type BrowserPage, createBrowser, formOf } from '@fitness/shared/testing/browser.ts';
import { caller } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { allReceived, type Harness, MEMBER_TOKEN, rawRequest, startHarness } from './support.ts';

const PATH = '/account-deletion';
const FORM = 'application/x-www-form-urlencoded';
const SCHEDULE = {
  deletion_requested_at: '2026-01-01 00:00:00',
  deletion_scheduled_at: '2026-01-15 00:00:00',
};
const NOT_PENDING = { deletion_requested_at: null, deletion_scheduled_at: null };

let gateway: Harness;
beforeAll(async () => {
  gateway = await startHarness();
});
afterAll(() => gateway.close());

type Reply = { status: number; body?: unknown; headers?: Record<string, string> };
/** Responses of identity by method and path. */
let replies: Map<string, Reply>;
/** Bodies of the requests to identity that limit a session. */
let limits: unknown[];

beforeEach(() => {
  gateway.reset();
  replies = new Map([
    ['POST /api/v1/auth/login', { status: 200, body: { token: MEMBER_TOKEN } }],
    ['GET /api/v1/auth/me', { status: 200, body: { user: { username: 'sara', ...NOT_PENDING } } }],
    ['POST /api/v1/auth/logout', { status: 204 }],
    ['POST /internal/session-limit', { status: 204 }],
  ]);
  gateway.upstreams.identity.handler = async (request, response) => {
    const received = gateway.upstreams.identity.received.at(-1);
    const reply = replies.get(`${request.method} ${request.url}`) ?? { status: 404, body: { message: 'no' } };
    const chunks = await request.toArray();
    if (received !== undefined) received.body = Buffer.concat(chunks);
    response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
    response.end(reply.body === undefined ? undefined : JSON.stringify(reply.body));
  };
  limits = [];
  gateway.upstreams.identity.internal = async (request, response) => {
    limits.push(JSON.parse(Buffer.concat(await request.toArray()).toString()));
    const { status = 404 } = replies.get(`${request.method} ${request.url}`) ?? {};
    response.writeHead(status, { 'content-type': 'application/json' }).end();
  };
});

const browse = (): Browser => createBrowser(gateway.url);
/** Follows only the path of a redirect, because the stubs do not listen at the public origin. */
const follow = (browser: Browser, page: BrowserPage): Promise<BrowserPage> => {
  if (page.location === undefined) throw new Error(`no redirect: ${page.status} ${page.html}`);
  return browser.get(page.location.pathname + page.location.search);
};
const signIn = async (browser: Browser): Promise<BrowserPage> => {
  const page = await browser.get(PATH);
  return follow(browser, await browser.submit(page, 'login', { login: 'sara', password: 'secret-password' }));
};
/** The page of a session that {@link signIn} has begun. */
const openSession = (browser: Browser): Promise<BrowserPage> => {
  browser.cookies.set('__Host-account_deletion /', { value: `user.${MEMBER_TOKEN}`, path: '/' });
  return browser.get(PATH);
};
/** Another visitor with a cookie. */
const withGuest = async (): Promise<Browser> => {
  const browser = browse();
  await browser.get(PATH);
  return browser;
};
const bodyOf = (path: string): unknown => {
  const request = gateway.upstreams.identity.received.findLast(({ url }) => url === path);
  return request === undefined ? undefined : JSON.parse(request.body.toString() || 'null');
};

describe('the first page', () => {
  test('the first page names the configured app, its developer and the days', async () => {
    const named = await startHarness({
      APP_NAME: 'Fit & <Strong>',
      APP_DEVELOPER: 'شرکت تندرستی',
      DELETION_GRACE_DAYS: '12.5',
    });
    try {
      for (const [lang, days] of [
        ['en', '12.5 days after'],
        ['fa', '۱۲٫۵ روز پس از'],
      ]) {
        const { html } = await createBrowser(named.url).get(`${PATH}?lang=${lang}`);
        expect(html).toContain('Fit &amp; &lt;Strong&gt;');
        expect(html).toContain('شرکت تندرستی');
        expect(html).toContain(days);
      }
    } finally {
      await named.close();
    }
  });

  test('the first page says what is deleted, what is kept, and for how long', async () => {
    const { html } = await browse().get(`${PATH}?lang=en`);
    expect(html).toContain('14 days after');
    expect(html).toMatch(/we delete your profile/);
    expect(html).toMatch(/payments, purchases, receipts.* We do not delete them later/);
    expect(html).toMatch(/delete them after one day at the latest/);
  });
});

describe('the cookie', () => {
  test('the cookie is short-lived, for this host only, and hidden from scripts, other sites and plain HTTP', async () => {
    const { headers } = await browse().get(PATH);
    const cookie = headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/^__Host-account_deletion=guest\.[\w-]{32}; Max-Age=900; /);
    for (const attribute of ['Path=/', 'HttpOnly', 'SameSite=Strict', 'Secure']) {
      expect(cookie.split('; ')).toContain(attribute);
    }
  });

  test('signing in replaces the cookie, so a cookie planted before is worthless', async () => {
    const browser = browse();
    await browser.get(PATH);
    const before = [...browser.cookies.values()][0]?.value;
    const page = await signIn(browser);
    expect([...browser.cookies.values()]).toEqual([{ value: `user.${MEMBER_TOKEN}`, path: '/' }]);
    expect(before).not.toContain(MEMBER_TOKEN);
    expect(page.html).not.toContain(MEMBER_TOKEN);
  });

  test.each(['nonsense', 'user.', 'user.a b', `admin.${MEMBER_TOKEN}`, `user.${'a'.repeat(600)}`])(
    'the cookie value %s is not accepted',
    async (value) => {
      const page = await browse().get(PATH, { cookie: `__Host-account_deletion=${value}` });
      expect([page.status, formOf(page.html).buttons]).toEqual([200, ['login']]);
      expect(allReceived(gateway)).toEqual([]);
    },
  );
});

describe('every page', () => {
  test('a page allows no scripts and no frames, and is not stored', async () => {
    const { status, headers, html } = await browse().get(PATH);
    expect(status).toBe(200);
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; .*form-action 'self'; /);
    expect(headers.get('content-security-policy')).not.toContain('script-src');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('access-control-allow-origin')).toBeNull();
    expect(html).not.toMatch(/<script|<style| style=/);
  });

  test('a page and its API errors are in the language of the link, or else of the browser', async () => {
    const browser = browse();
    expect((await browser.get(PATH, { 'accept-language': 'fa' })).html).toContain('lang="fa" dir="rtl"');
    const page = await browser.get(`${PATH}?lang=fa`, { 'accept-language': 'en' });
    expect(page.html).toContain('lang="fa" dir="rtl"');
    await browser.submit(page, 'login', { login: 'sara', password: 'x' }, { 'accept-language': 'en' });
    const [received] = gateway.upstreams.identity.received;
    expect(received?.headers['accept-language']).toBe('fa');
  });

  test('a page escapes user input and the texts of the API', async () => {
    const markup = '"><script>alert(1)</script>';
    replies.set('POST /api/v1/auth/login', { status: 422, body: { errors: { login: [markup] } } });
    const browser = browse();
    const { html } = await browser.submit(await browser.get(PATH), 'login', { login: markup, password: 'x' });
    expect(html).not.toContain('<script');
    expect(html).toContain('&quot;&gt;&lt;script&gt;');
  });

  test('a method other than GET and POST is rejected with 405', async () => {
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const answer = await fetch(`${gateway.url}${PATH}`, { method });
      expect([method, answer.status, answer.headers.get('allow')]).toEqual([method, 405, 'GET, POST']);
    }
  });
});

describe('a form of more than 16 KiB', () => {
  test.each([PATH, '/ops'])(
    'a form of more than 16 KiB is rejected with 413 at %s, by its declared length or while it arrives',
    async (path) => {
      const { headers } = await fetch(`${gateway.url}${path}`);
      const cookie = headers.get('set-cookie')?.split(';')[0] ?? '';
      const post = (body: Buffer, more: Record<string, string> = {}) =>
        rawRequest(gateway.url, path, {
          method: 'POST',
          headers: { cookie, 'content-type': FORM, ...more },
          body,
        });
      // This form is within the limit, and is refused only because it has no token.
      expect((await post(Buffer.alloc(16 * 1024, 'a&'))).status).toBe(403);
      for (const more of [{}, { 'transfer-encoding': 'chunked' }]) {
        const refused = await post(Buffer.alloc(16 * 1024 + 1, 'a&'), more);
        expect([refused.status, refused.headers['content-type']]).toEqual([413, 'text/html; charset=utf-8']);
      }
      expect((await post(Buffer.alloc(900 * 1024, 'a&'))).status).toBe(413);
      expect(allReceived(gateway)).toEqual([]);
    },
  );
});

describe('a forged form', () => {
  test.each([
    ['without a token', {}, {}],
    ['with a wrong token', { csrf: 'x'.repeat(43) }, {}],
    ['with a token of non-ASCII letters', { csrf: 'é'.repeat(43) }, {}],
  ])('a form %s is rejected with 403 and reaches no service', async (_name, fields, headers) => {
    const browser = browse();
    await browser.get(PATH);
    const forged = { action: 'login', login: 'sara', password: 'x', ...fields };
    const page = await browser.post(PATH, forged as Record<string, string>, headers);
    expect([page.status, page.headers.get('content-type')]).toEqual([403, 'text/html; charset=utf-8']);
    expect(allReceived(gateway)).toEqual([]);
  });

  test.each([
    ['from another origin', { origin: 'https://evil.example' }],
    ['from another site', { 'sec-fetch-site': 'cross-site' }],
    ['from a sibling domain', { 'sec-fetch-site': 'same-site' }],
  ])('a form %s is rejected with 403, even with the right token', async (_name, headers) => {
    const browser = browse();
    await openSession(browser);
    const page = await browser.get(PATH);
    const before = allReceived(gateway).length;
    const fields = { password: 'secret-password' };
    const refused = await browser.submit(page, 'send_code', fields, headers as Record<string, string>);
    expect(refused.status).toBe(403);
    expect(allReceived(gateway)).toHaveLength(before);
  });

  /** The status line of the response to a form whose body is not sent. */
  const statusBeforeBody = async (path: string, headers: string[]): Promise<string> => {
    const { hostname, port, host } = new URL(gateway.url);
    const socket = connect(Number(port), hostname);
    const head = [`POST ${path} HTTP/1.1`, `host: ${host}`, ...headers];
    socket.write(`${head.join('\r\n')}\r\ncontent-type: ${FORM}\r\ncontent-length: 9000\r\n\r\n`);
    const [chunk] = await once(socket, 'data');
    socket.destroy();
    return String(chunk).slice(0, 'HTTP/1.1 403'.length);
  };

  test.each([PATH, '/ops'])(
    'a form of %s with a foreign origin or without the cookie is rejected with 403 before it is read',
    async (path) => {
      const cookie = (await fetch(`${gateway.url}${path}`)).headers.get('set-cookie')?.split(';')[0];
      const own = `cookie: ${cookie}`;
      expect(await statusBeforeBody(path, [own, 'origin: https://evil.example'])).toBe('HTTP/1.1 403');
      expect(await statusBeforeBody(path, [own, 'sec-fetch-site: cross-site'])).toBe('HTTP/1.1 403');
      expect(await statusBeforeBody(path, [])).toBe('HTTP/1.1 403');
      expect(await statusBeforeBody(path, ['cookie: other=1'])).toBe('HTTP/1.1 403');
    },
  );

  test('a form without the cookie, or with the token of another visit, is rejected with 403', async () => {
    const browser = browse();
    const page = await browser.get(PATH);
    browser.cookies.clear();
    expect((await browser.submit(page, 'login', { login: 'a', password: 'b' })).status).toBe(403);
    await browser.get(PATH);
    expect((await browser.submit(page, 'login', { login: 'a', password: 'b' })).status).toBe(403);
    expect(allReceived(gateway)).toEqual([]);
  });
});

describe('signing in', () => {
  test('signing in starts a session of fifteen minutes that may call only what the page calls', async () => {
    await signIn(browse());
    expect(limits).toEqual([{ page: 'account_deletion', seconds: 900 }]);
  });

  test('signing in starts no session if the session cannot be limited', async () => {
    replies.set('POST /internal/session-limit', { status: 503, body: { message: 'later' } });
    const browser = browse();
    const form = await browser.get(PATH);
    const page = await browser.submit(form, 'login', { login: 'sara', password: 'secret-password' });
    expect([page.status, page.headers.get('set-cookie')]).toEqual([503, null]);
    expect(gateway.upstreams.identity.received.at(-1)?.url).toBe('/api/v1/auth/logout');
  });

  test('signing in calls the API with the address of the browser', async () => {
    await signIn(browse());
    const [login] = gateway.upstreams.identity.received;
    expect(login).toMatchObject({ method: 'POST', url: '/api/v1/auth/login', caller: { kind: 'guest' } });
    expect(login?.headers['x-client-address']).toBe('127.0.0.1');
    expect(bodyOf('/api/v1/auth/login')).toEqual({ login: 'sara', password: 'secret-password' });
  });

  test('a second factor is requested, and sent together with the password', async () => {
    const text = 'Enter the code';
    replies.set('POST /api/v1/auth/login', { status: 422, body: { errors: { totp: [text] } } });
    const browser = browse();
    const fields = { login: 'sara', password: 'secret-password' };
    const codePage = await browser.submit(await browser.get(PATH), 'login', fields);
    expect([codePage.status, codePage.html.includes(text)]).toEqual([200, false]);
    expect(codePage.html).toMatch(/<input name="totp"/);
    for (const field of ['name="login"', 'name="password"']) expect(codePage.html).not.toContain(field);
    await browser.submit(codePage, 'code', { totp: '123456' });
    expect(bodyOf('/api/v1/auth/login')).toEqual({ ...fields, totp: '123456' });
  });

  test('a refused sign-in is reported at the password, which has the focus, and keeps the login', async () => {
    const errors = { login: ['Incorrect username or password.'] };
    replies.set('POST /api/v1/auth/login', { status: 422, body: { errors } });
    const browser = browse();
    const fields = { login: 'sara', password: 'wrong' };
    const { html } = await browser.submit(await browser.get(PATH), 'login', fields);
    expect(html).toMatch(/<input name="login"[^>]* value="sara">/);
    expect(html).toMatch(/<input name="password"[^>]* aria-describedby="password-problem" autofocus>/);
    expect(html).toContain('id="password-problem">Incorrect username or password.</p>');
  });

  test('a sign-in above the limit is rejected with 429 and the time to wait', async () => {
    const headers = { 'retry-after': '42' };
    replies.set('POST /api/v1/auth/login', { status: 429, body: { message: 'Too many.' }, headers });
    const browser = browse();
    const page = await browser.submit(await browser.get(PATH), 'login', { login: 'a', password: 'b' });
    expect([page.status, page.headers.get('retry-after')]).toEqual([429, '42']);
    expect(page.html).toContain('Too many.');
  });

  test('signing in while identity does not respond leads to a 503 page', async () => {
    const browser = browse();
    const page = await browser.get(PATH);
    gateway.upstreams.identity.handler = (request) => request.socket.destroy();
    const refused = await browser.submit(page, 'login', { login: 'a', password: 'b' });
    expect([refused.status, refused.headers.get('content-type')]).toEqual([503, 'text/html; charset=utf-8']);
  });
});

describe('a signed-in user', () => {
  test('blockers are listed with how to settle them, and the deletion cannot be continued', async () => {
    gateway.blockers.set(7, [{ code: 'unsettled_balance', extras_json: '{"balance":5000}' }]);
    const page = await openSession(browse());
    expect(page.html).toContain('Your wallet balance is 5,000 Tooman.');
    expect(page.html).toContain('Withdraw the money');
    expect(formOf(page.html).buttons).toEqual(['sign_out']);
  });

  test('a negative balance is settled only by a deposit', async () => {
    gateway.blockers.set(7, [{ code: 'unsettled_balance', extras_json: '{"balance":-5000}' }]);
    const { html } = await openSession(browse());
    expect(html).toContain('deposit the missing amount');
    expect(html).not.toContain('Withdraw the money');
  });

  test('blockers in the 409 of either phase are listed', async () => {
    const blockers = [{ code: 'gym_ownership', message: 'You own 1 gym.', count: 1 }];
    const body = { error: 'blocked', code: 'account_deletion_blocked', blockers };
    for (const action of ['send_code', 'confirm']) {
      const browser = browse();
      const page = await openSession(browser);
      replies.set('POST /api/v1/auth/delete-account', { status: 409, body });
      const blocked = await browser.submit(page, action, { password: 'secret-password', code: '123456' });
      expect([blocked.status, blocked.html.includes('You own 1 gym.')]).toEqual([409, true]);
      expect(blocked.html).toContain('Transfer it to someone else');
    }
  });

  test('both phases call the API with the password that is entered in each phase', async () => {
    const browser = browse();
    const page = await openSession(browser);
    const api = 'POST /api/v1/auth/delete-account';
    replies.set(api, { status: 200, body: { message: 'sent', confirmation_required: true } });
    const sent = await browser.submit(page, 'send_code', { password: 'first-password' });
    expect([sent.status, sent.location?.search]).toEqual([303, '?lang=en&step=code']);
    expect(bodyOf('/api/v1/auth/delete-account')).toEqual({ current_password: 'first-password' });
    const form = await follow(browser, sent);
    replies.set(api, { status: 202, body: { message: 'ok', ...SCHEDULE } });
    const done = await browser.submit(form, 'confirm', { password: 'second-password', code: '123456' });
    expect(bodyOf('/api/v1/auth/delete-account')).toEqual({
      current_password: 'second-password',
      confirmation_code: '123456',
    });
    expect(gateway.upstreams.identity.received.at(-1)?.caller).toMatchObject({ kind: 'user', userId: 7 });
    const last = await follow(browser, done);
    expect([done.status, last.html.includes('January 15, 2026 at 00:00 UTC')]).toEqual([303, true]);
    expect([...browser.cookies.values()][0]?.value).toMatch(/^guest\./);
  });

  test('the last page is available in another language, but only to this browser', async () => {
    const browser = browse();
    await openSession(browser);
    const form = await browser.get(`${PATH}?step=code`);
    replies.set('POST /api/v1/auth/delete-account', { status: 202, body: { message: 'ok', ...SCHEDULE } });
    const done = await browser.submit(form, 'confirm', { password: 'secret-password', code: '123456' });
    const last = await follow(browser, done);
    const [, link = ''] = /<a href="([^"]*)" lang="fa"/.exec(last.html) ?? [];
    const persian = await browser.get(link.replaceAll('&amp;', '&'));
    expect(persian.html).toContain('lang="fa" dir="rtl"');
    expect(persian.html).toContain('>۲۵ دی ۱۴۰۴ ساعت ۰۳:۳۰ به وقت تهران</time>');
    for (const other of [browse(), await withGuest()]) {
      const page = await other.get(`${done.location?.pathname}${done.location?.search}`);
      expect([page.status, formOf(page.html).buttons]).toEqual([200, ['login']]);
    }
  });

  test('a sealed value of the sign-in is not accepted as the last page', async () => {
    replies.set('POST /api/v1/auth/login', { status: 422, body: { errors: { totp: ['Code'] } } });
    const browser = browse();
    const fields = { login: 'sara', password: 'secret-password' };
    const step = await browser.submit(await browser.get(PATH), 'login', fields);
    const page = await browser.get(`${PATH}?end=${formOf(step.html).fields.kept}`);
    expect([page.status, formOf(page.html).buttons]).toEqual([200, ['login']]);
  });

  test('the last step shows the deletion date in red, and keeping the account only ends the session', async () => {
    const browser = browse();
    await openSession(browser);
    const before = Date.now();
    const form = await browser.get(`${PATH}?step=code`);
    const [, shown = ''] = /<div class="notice bad stack">.*?<time datetime="([^"]*)"/s.exec(form.html) ?? [];
    const days = (Date.parse(shown) - before) / 86_400_000;
    expect(days).toBeCloseTo(14, 3);
    expect(formOf(form.html).buttons).toEqual(['confirm', 'keep']);
    const last = await follow(browser, await browser.submit(form, 'keep'));
    expect(last.html).toContain('<h1>Your account stays</h1>');
    expect(bodyOf('/api/v1/auth/delete-account')).toBeUndefined();
    expect(gateway.upstreams.identity.received.at(-1)?.url).toBe('/api/v1/auth/logout');
  });

  test('a line never breaks inside a date or an amount', async () => {
    gateway.blockers.set(7, [{ code: 'unsettled_balance', extras_json: '{"balance":5000}' }]);
    const browser = browse();
    await openSession(browser);
    const cookie = `__Host-account_deletion=${[...browser.cookies.values()][0]?.value}`;
    const textOf = async (query: string) =>
      (await fetch(`${gateway.url}${PATH}?${query}`, { headers: { cookie } })).text();
    expect(await textOf('lang=en')).toContain('is 5,000\u00a0Tooman.');
    expect(await textOf('lang=fa')).toContain('۵٬۰۰۰\u00a0تومان');
    expect(await textOf('lang=en&step=code')).toMatch(
      />\w+\u00a0\d+,\u00a0\d{4} at\u00a0\d\d:\d\d\u00a0UTC<\/time>/,
    );
    expect(await textOf('lang=fa&step=code')).toMatch(
      / ساعت\u00a0[۰-۹:]+\u00a0به\u00a0وقت\u00a0تهران<\/time>/,
    );
  });

  test.each([
    ['send_code', '', ['id="password-problem">Enter your password.']],
    [
      'confirm',
      '?step=code',
      [
        'id="code-problem">Enter the 6-digit code from the SMS.',
        'id="password-problem">Enter your password.',
      ],
    ],
  ])(
    'an empty form for %s says at each field what to enter, and sends nothing',
    async (action, query, texts) => {
      const browser = browse();
      await openSession(browser);
      const refused = await browser.submit(await browser.get(`${PATH}${query}`), action, { code: ' ' });
      expect(refused.status).toBe(422);
      for (const text of texts) expect(refused.html).toContain(text);
      const requests = allReceived(gateway).map(({ url }) => url);
      expect(requests).not.toContain('/api/v1/auth/delete-account');
    },
  );

  test('a wrong code is reported at its field', async () => {
    const browser = browse();
    await openSession(browser);
    const form = await browser.get(`${PATH}?step=code`);
    const errors = { confirmation_code: ['This confirmation code is not valid or has expired.'] };
    replies.set('POST /api/v1/auth/delete-account', { status: 422, body: { message: 'no', errors } });
    const refused = await browser.submit(form, 'confirm', { password: 'x', code: '000000' });
    expect(refused.status).toBe(422);
    expect(refused.html).toContain('aria-invalid="true" aria-describedby="code-problem" autofocus');
    expect(refused.html).toMatch(/<input name="code"[^>]* value="000000"/);
    expect(refused.html).not.toContain('role="alert"');
    expect(formOf(refused.html).buttons).toEqual(['confirm', 'keep']);
  });

  test('an error of a field that the page lacks is an alert, and the refused input keeps the focus', async () => {
    const browser = browse();
    const page = await openSession(browser);
    const errors = { current_password: ['Wrong.'], something_new: ['Not like this.'] };
    replies.set('POST /api/v1/auth/delete-account', { status: 422, body: { message: 'no', errors } });
    const refused = await browser.submit(page, 'send_code', { password: 'x' });
    expect(refused.html).toContain('role="alert" tabindex="-1">Not like this.</p>');
    expect(refused.html.match(/autofocus/g)).toEqual(['autofocus']);
    expect(refused.html).toContain('aria-describedby="password-problem" autofocus');
  });

  test.each([
    [429, 'Too many requests.'],
    [500, 'The confirmation code could not be sent.'],
    [503, 'Not reachable.'],
  ])('a %i from the API is shown as “%s”, and the page can be used again', async (status, text) => {
    const browser = browse();
    const page = await openSession(browser);
    replies.set('POST /api/v1/auth/delete-account', { status, body: { message: text } });
    const refused = await browser.submit(page, 'send_code', { password: 'x' });
    expect(refused.status).toBe(status);
    expect(refused.html).toContain(`role="alert" tabindex="-1" autofocus>${text}</p>`);
    expect(formOf(refused.html).buttons).toEqual(['send_code', 'sign_out']);
  });

  test('a lost response leads to a 503 that does not claim that nothing happened', async () => {
    const browser = browse();
    const page = await openSession(browser);
    gateway.upstreams.identity.handler = (request) => request.socket.destroy();
    const lost = await browser.submit(page, 'confirm', { password: 'x', code: '123456' });
    expect([lost.status, lost.headers.get('content-type')]).toEqual([503, 'text/html; charset=utf-8']);
    expect(lost.html).toContain('href="/account-deletion?lang=en"');
  });

  test('a revoked token leads to the sign-in page', async () => {
    const browser = browse();
    const page = await openSession(browser);
    gateway.tokens.clear();
    for (const next of [
      await browser.submit(page, 'send_code', { password: 'x' }),
      await browser.get(PATH, { cookie: `__Host-account_deletion=user.${MEMBER_TOKEN}` }),
    ]) {
      expect([next.status, formOf(next.html).buttons]).toEqual([401, ['login']]);
      expect(next.html).toContain('You are no longer signed in');
    }
    expect([...browser.cookies.values()][0]?.value).toMatch(/^guest\./);
  });

  test('a token for another resource is not accepted as a session', async () => {
    gateway.tokens.set('fpo_app', { ...caller(7), audience: 'https://api.example.com/mcp' });
    const page = await browse().get(PATH, { cookie: '__Host-account_deletion=user.fpo_app' });
    expect(page.status).toBe(401);
    expect(allReceived(gateway)).toEqual([]);
  });

  test.each<[string, Partial<UserCaller>]>([
    ['the session of another page', { page: 'ops' }],
    ['a personal token', { tokenKind: 'personal' }],
    ['the token of an app', { tokenKind: 'oauth' }],
  ])('%s is refused before any service is called', async (_which, more) => {
    const browser = browse();
    const page = await openSession(browser);
    const before = allReceived(gateway).length;
    gateway.tokens.set(MEMBER_TOKEN, { ...caller(7), ...more });
    for (const answer of [
      await browser.get(PATH),
      await browser.submit(page, 'send_code', { password: 'x' }),
    ]) {
      expect(answer.status).toBe(403);
      expect(answer.html).not.toContain('sara');
    }
    expect(allReceived(gateway)).toHaveLength(before);
    gateway.tokens.set(MEMBER_TOKEN, { ...caller(7), page: 'account_deletion' });
    expect((await browser.get(PATH)).status).toBe(200);
  });

  test('a pending deletion is shown with its date, and can be canceled', async () => {
    const user = { username: 'sara', ...SCHEDULE };
    replies.set('GET /api/v1/auth/me', { status: 200, body: { user } });
    const browser = browse();
    const page = await openSession(browser);
    expect(page.html).toContain(
      '<time datetime="2026-01-15T00:00:00.000Z" title="2026-01-15 00:00:00 UTC">January 15, 2026 at 00:00 UTC</time>',
    );
    expect((await browser.get(`${PATH}?lang=fa`)).html).toContain(
      '>۲۵ دی ۱۴۰۴ ساعت ۰۳:۳۰ به وقت تهران</time>',
    );
    expect(formOf(page.html).buttons).toEqual(['cancel', 'sign_out']);
    replies.set('DELETE /api/v1/auth/delete-account', { status: 200, body: { message: 'active' } });
    const done = await browser.submit(page, 'cancel');
    const last = await follow(browser, done);
    expect([last.status, last.html.includes('The deletion has been canceled')]).toEqual([200, true]);
    expect(last.html).toMatch(/<a href="[^"]*end=[^"]*" lang="fa"/);
    expect([...browser.cookies.values()][0]?.value).toMatch(/^guest\./);
    const calls = gateway.upstreams.identity.received.slice(-2).map(({ method, url }) => `${method} ${url}`);
    expect(calls).toEqual(['DELETE /api/v1/auth/delete-account', 'POST /api/v1/auth/logout']);
  });

  test('signing out ends the session at the API', async () => {
    const browser = browse();
    const out = await browser.submit(await openSession(browser), 'sign_out');
    expect([out.status, browser.cookies.size]).toEqual([303, 0]);
    expect(gateway.upstreams.identity.received.at(-1)?.url).toBe('/api/v1/auth/logout');
  });

  test('an Authorization header of the browser is ignored', async () => {
    const authorization = `Bearer ${MEMBER_TOKEN}`;
    const page = await browse().get(PATH, { authorization });
    expect(formOf(page.html).buttons).toEqual(['login']);
  });
});

test('the last step states the consequences right above a button that looks final', async () => {
  const browser = browse();
  await openSession(browser);
  const { html } = await browser.get(`${PATH}?step=code`);
  const consequences = html.slice(html.indexOf('If you confirm now'), html.indexOf('value="confirm"'));
  for (const text of ['signed out everywhere', 'Until then, you can sign in', 'we delete your profile']) {
    expect(consequences).toContain(text);
  }
  expect(html).toContain('<button name="action" value="confirm" class="danger">Delete my account</button>');
});

describe('an unknown path', () => {
  const BROWSER = { host: 'x', accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' };
  const get = (path: string, headers = {}, method = 'GET') =>
    rawRequest(gateway.url, path, { method, headers: { ...BROWSER, ...headers } });

  test.each(['/nothing', '/docs/nothing', '/account-deletion/x', '/oauth/nothing', '/oauth', '/apis'])(
    'an unknown path such as %s is an HTML page for browsers, in their language',
    async (path) => {
      const page = await get(path, { 'accept-language': 'fa' });
      expect([page.status, page.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
      expect(page.headers.vary).toBe('Accept, Accept-Language');
      expect(page.headers['content-security-policy']).toMatch(/^default-src 'none'; /);
      expect(page.text).toContain('<html lang="fa" dir="rtl">');
      expect(page.text).toContain(`<a href="${path}?lang=en" lang="en"`);
      expect((await get(`${path}?lang=en`, { 'accept-language': 'fa' })).text).toContain('Page not found');
    },
  );

  test.each([
    ['/nothing', { accept: 'application/json' }, 'GET', 404],
    ['/nothing', { accept: '*/*' }, 'GET', 404],
    ['/nothing', {}, 'POST', 404],
    ['/api/v1/nothing', {}, 'GET', 404],
    ['/api', {}, 'GET', 404],
    ['/account-deletion', {}, 'PUT', 405],
  ])('the response to %s with %j and %s is JSON', async (path, headers, method, status) => {
    const answer = await get(path, headers, method);
    expect([answer.status, answer.headers['content-type']]).toEqual([
      status,
      'application/json; charset=utf-8',
    ]);
  });

  test('the page for a path with two leading slashes has no link to another host', async () => {
    const page = await get('//evil.example/x');
    expect(page.text).not.toContain('//evil.example');
  });
});

describe('the start page', () => {
  const HTML = { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' };

  test('the start page shows browsers the available pages, in their language', async () => {
    const page = await rawRequest(gateway.url, '/', {
      headers: { host: 'x', ...HTML, 'accept-language': 'fa' },
    });
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.headers.vary).toContain('Accept');
    expect(page.text).toContain('lang="fa" dir="rtl"');
    for (const link of ['/docs', '/api/v1/openapi.json', '/account-deletion?lang=fa', '/?lang=en']) {
      expect(page.text).toContain(`href="${link}"`);
    }
    // These parts require the demo data.
    expect(page.text).not.toMatch(/sandbox|tour/);
    expect(page.headers['content-security-policy']).not.toContain('script-src');
    expect((await rawRequest(gateway.url, '/assets/tour.js', { headers: { host: 'x' } })).status).toBe(404);
    expect(page.text).toContain('همهٔ سرویس‌ها فعال‌اند.');
  });

  test.each([undefined, '*/*', 'application/json'])(
    'the start page with Accept %s is a 404 in JSON',
    async (accept) => {
      const headers = { host: 'x', ...(accept === undefined ? {} : { accept }) };
      const page = await rawRequest(gateway.url, '/', { headers });
      expect([page.status, page.text]).toEqual([
        404,
        '{"message":"We could not find what you are looking for."}',
      ]);
      expect(
        (await rawRequest(gateway.url, '/', { method: 'POST', headers: { host: 'x', ...HTML } })).status,
      ).toBe(404);
    },
  );
});

describe('the start page of a demonstration with an unready service', () => {
  let other: Harness;
  let sandbox: string;
  // A start waits for the clock of the sandbox, and a request for its next advance.
  const stub = createServer(({ url }, response) => {
    if (url === '/_sandbox/clock') response.end('{"data":{"advanced_ms":0}}');
  });
  beforeAll(async () => {
    await once(stub.listen(0, '127.0.0.1'), 'listening');
    sandbox = `http://127.0.0.1:${(stub.address() as AddressInfo).port}`;
    other = await startHarness({ SEED_DEMO: '1', SANDBOX_URL: sandbox });
    other.upstreams.wallet.ready = false;
  });
  afterAll(async () => {
    await other.close();
    stub.close();
  });

  test('the start page links to the sandbox, and does not name the service that is unready', async () => {
    const page = await rawRequest(other.url, '/', { headers: { host: 'x', accept: 'text/html' } });
    expect(page.text).toContain(`href="${sandbox}"`);
    expect(page.text).toContain('Some services are unavailable right now.');
    expect(page.text).not.toMatch(/wallet[^s]/);
  });

  test('the start page has the tour, whose script may call only this origin and the sandbox', async () => {
    const page = await rawRequest(other.url, '/', { headers: { host: 'x', accept: 'text/html' } });
    const policy = page.headers['content-security-policy'];
    expect(policy).toContain(`; script-src 'self'; connect-src 'self' ${sandbox}; `);
    expect(page.text).toContain(`href="${sandbox}/app?lang=en"`);
    expect(page.text.match(/ data-step="/g)).toHaveLength(8);
    // The script shows the buttons. The requests are shown without it.
    expect(page.text.match(/<button type="button" id="tour-[a-z]+" hidden/g)).toHaveLength(8);
    expect(page.text).toContain('>POST /api/v1/auth/login\n');
    const [, script = ''] = /<script src="([^"]+)"/.exec(page.text) ?? [];
    const file = await rawRequest(other.url, script, { headers: { host: 'x' } });
    expect([file.status, file.headers['content-type']]).toEqual([200, 'text/javascript; charset=utf-8']);
  });
});
