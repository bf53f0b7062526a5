/** The session of `/ops`, its sections, forms and live changes. */
import { PERMISSIONS, type Permission } from '@fitness/shared/kernel/permissions.ts';
import type { Browser, BrowserPage } from '@fitness/shared/testing/browser.ts';
import { caller } from '@fitness/shared/testing/harness.ts';
import { describe, expect, test } from '@jest/globals';
import {
  arrangeOps,
  browse,
  calls,
  decide,
  enter,
  follow,
  gateway,
  operatorOf,
  PATH,
  replies,
  STATUS,
  signIn,
  submit,
  TOKEN,
  WITHDRAWAL,
} from './ops-support.ts';
import { allReceived } from './support.ts';

arrangeOps();

const LIMIT = 'identity POST /session-limit {"page":"ops","seconds":7200,"idle_seconds":900}';

describe('sessions', () => {
  test('the cookie is short-lived, for this host only, and hidden from scripts and other sites', async () => {
    const { headers } = await enter(browse());
    const cookie = headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/^__Host-ops=user\.fps_operator; Max-Age=900; /);
    for (const attribute of ['Path=/', 'HttpOnly', 'SameSite=Strict', 'Secure'])
      expect(cookie.split('; ')).toContain(attribute);
  });

  test('identity ends the session after two hours, whatever the browser does', async () => {
    await enter(browse());
    expect(calls).toContain(LIMIT);
  });

  test('no session starts if it cannot be limited', async () => {
    replies.set('POST /session-limit', { status: 503, body: { message: 'later' } });
    const page = await enter(browse());
    expect(page.status).toBe(503);
    expect(page.headers.get('set-cookie') ?? '').not.toContain(TOKEN);
    expect(calls).toContain('identity POST /auth/logout');
  });

  test.each([
    ['without operator permissions', caller(9)],
    ['with a personal token', operatorOf(PERMISSIONS, { tokenKind: 'personal' })],
    ['with the session of another page', operatorOf(PERMISSIONS, { page: 'account_deletion' })],
  ])('a session of an account %s is refused and ended at once', async (_which, user) => {
    gateway.tokens.set(TOKEN, user);
    const page = await enter(browse());
    expect(page.status).toBe(403);
    expect(page.headers.get('set-cookie')).not.toContain(TOKEN);
    expect(calls).toContain('identity POST /auth/logout');
    const planted = await browse().get(PATH, { cookie: `__Host-ops=user.${TOKEN}` });
    expect(planted.status).toBe(403);
    expect(planted.html).not.toContain('<nav');
  });

  test('only a page that is shown renews the session at identity', async () => {
    const browser = browse();
    expect((await enter(browser)).status).toBe(303);
    const limits = (): number => calls.filter((call) => call === LIMIT).length;
    expect(limits()).toBe(1);
    const page = await browser.get(`${PATH}/withdrawals`);
    expect(limits()).toBe(2);
    const [cookie] = [...browser.cookies.values()];
    const headers = { cookie: `__Host-ops=${cookie?.value}` };
    const response = await fetch(`${gateway.url}${PATH}/live?section=withdrawals`, { headers });
    replies.set('GET /payments', { status: 200, body: { data: [], meta: {} } });
    for await (const chunk of response.body ?? [])
      if (new TextDecoder().decode(chunk as Uint8Array).includes('event: changed')) break;
    await browser.get(`${PATH}/documents/77`);
    await browser.get(`${PATH}/nothing`);
    expect(limits()).toBe(2);
    replies.set('POST /payments/31/pay', { status: 409, body: { message: 'no' } });
    await decide(browser, page, 'pay');
    expect(limits()).toBe(4);
  });

  test('the cookie is not renewed if identity does not renew the session', async () => {
    const browser = await signIn();
    replies.set('POST /session-limit', { status: 503, body: { message: 'later' } });
    const page = await browser.get(PATH);
    expect([page.status, page.headers.get('set-cookie')]).toEqual([503, null]);
    replies.set('POST /session-limit', { status: 401, body: { message: 'over' } });
    expect((await browser.get(PATH)).status).toBe(401);
  });

  test('a session ends with its token', async () => {
    const browser = await signIn();
    expect((await browser.get(PATH)).status).toBe(200);
    gateway.tokens.delete(TOKEN);
    const page = await browser.get(`${PATH}/withdrawals`);
    expect(page.status).toBe(401);
    expect(page.headers.get('set-cookie')).toMatch(/^__Host-ops=guest\./);
  });

  test('signing out ends the session', async () => {
    const browser = await signIn();
    const page = await submit(browser, await browser.get(PATH), 'sign_out');
    expect(page.status).toBe(303);
    expect(calls).toContain('identity POST /auth/logout');
    expect([...browser.cookies.values()]).toEqual([]);
  });
});

describe('sections', () => {
  const LINKS = [
    '',
    '/dead-letters',
    '/withdrawals',
    '/licenses',
    '/disputes',
    '/deletions',
    '/users',
    '/roles',
    '/audit-log',
  ];

  test('an operator with every permission sees all sections', async () => {
    const browser = await signIn();
    const { html } = await browser.get(PATH);
    for (const link of LINKS) expect(html).toContain(`href="${PATH}${link}?lang=en"`);
  });

  test.each<[string, Permission[], string[]]>([
    ['/withdrawals', ['payments.view_all', 'payments.settle_withdrawals'], ['/withdrawals']],
    ['/disputes', ['payments.view_all', 'payments.resolve_disputes'], ['/disputes']],
    ['/audit-log', ['audit.view'], ['/audit-log']],
    ['/users', ['users.view_all'], ['/deletions', '/users']],
    ['/dead-letters', ['operations.manage'], ['', '/dead-letters']],
  ])('the permissions for %s show no other sections', async (_section, permissions, shown) => {
    replies.set('GET /payments/deposit/disputed', { status: 200, body: { data: [] } });
    replies.set('GET /payments/store-purchases/refund-queue', { status: 200, body: { data: [] } });
    replies.set('GET /audit-log', { status: 200, body: { data: [], meta: {} } });
    replies.set('GET /users', { status: 200, body: { data: [], meta: {} } });
    gateway.tokens.set(TOKEN, operatorOf(permissions));
    const browser = await signIn();
    const start = await browser.get(PATH);
    expect(start.status).toBe(200);
    expect(LINKS.filter((link) => start.html.includes(`href="${PATH}${link}?lang=en"`))).toEqual(shown);
    for (const link of LINKS.filter((one) => one !== '')) {
      const { status } = await browser.get(`${PATH}${link}`);
      expect([link, status]).toEqual([link, shown.includes(link) ? 200 : 403]);
    }
  });

  test('an action in a section that the operator may not use reaches no service', async () => {
    const browser = await signIn();
    const page = await browser.get(`${PATH}/withdrawals`);
    gateway.tokens.set(TOKEN, operatorOf(['operations.manage']));
    calls.length = 0;
    expect((await submit(browser, page, 'pay')).status).toBe(403);
    expect(calls).toEqual(['identity GET /auth/me']);
  });

  test('an unknown section or action returns 404, even with the name of an inherited property', async () => {
    const browser = await signIn();
    expect((await browser.get(`${PATH}/nothing`)).status).toBe(404);
    const page = await browser.get(`${PATH}/withdrawals`);
    for (const name of ['constructor', 'toString', ''])
      expect((await submit(browser, page, 'pay', {}).then(() => browser.submit(page, name))).status).toBe(
        404,
      );
  });

  test('texts of the services are escaped', async () => {
    const markup = '"><script>alert(1)</script>';
    const user = { ...WITHDRAWAL.user, username: markup };
    replies.set('GET /payments', {
      status: 200,
      body: { data: [{ ...WITHDRAWAL, user, description: markup }], meta: {} },
    });
    const { html } = await (await signIn()).get(`${PATH}/withdrawals`);
    expect(html).not.toContain('<script>alert');
    expect(html).toContain('&lt;script&gt;');
  });

  test('a service that does not answer is reported, and the others are shown', async () => {
    gateway.upstreams.wallet.ready = false;
    gateway.upstreams.wallet.internal = (_request, response) => void response.destroy();
    const { status, html } = await (await signIn()).get(PATH);
    expect([status, html.split('This service is not responding.').length]).toEqual([200, 3]);
    expect(html).toContain('(oldest: 7 s)');
  });
});

describe('forms', () => {
  const signedInPage = async (): Promise<[Browser, BrowserPage]> => {
    const browser = await signIn();
    return [browser, await browser.get(`${PATH}/withdrawals`)];
  };

  test('a form without the CSRF token of the session changes nothing', async () => {
    const [browser, page] = await signedInPage();
    for (const csrf of ['', 'wrong', 'a'.repeat(43)])
      expect((await submit(browser, page, 'pay', { csrf })).status).toBe(403);
    expect(calls.filter((call) => call.includes('POST /payments'))).toEqual([]);
  });

  test('a form of another session changes nothing', async () => {
    const [, page] = await signedInPage();
    gateway.tokens.set('fps_other', operatorOf(PERMISSIONS));
    const other = await signIn('fps_other');
    expect((await submit(other, page, 'pay')).status).toBe(403);
    expect(calls.filter((call) => call.includes('POST /payments'))).toEqual([]);
  });

  test.each([{ origin: 'https://evil.example.com' }, { 'sec-fetch-site': 'cross-site' }])(
    'a form from another site is refused: %j',
    async (headers: Record<string, string>) => {
      const [browser] = await signedInPage();
      const answer = await browser.post(`${PATH}/withdrawals`, { action: 'pay', payment_id: '31' }, headers);
      expect(answer.status).toBe(403);
      expect(calls.filter((call) => call.includes('POST /payments'))).toEqual([]);
    },
  );

  test('a form is answered with a redirect, so that a reload repeats nothing', async () => {
    const [browser, page] = await signedInPage();
    const answer = await decide(browser, page, 'pay', { reference: 'PAYA-1' });
    expect([answer.status, answer.location?.search]).toEqual([303, '?lang=en&payment=31&done=paid']);
    expect(calls).toContain('wallet POST /payments/31/pay {"reference":"PAYA-1","take_over":false}');
    replies.set('GET /payments/31', { status: 200, body: { payment: { ...WITHDRAWAL, is_done: true } } });
    expect((await follow(browser, answer)).html).toContain(
      'Withdrawal 31 of 50,000 Tooman was marked as paid.',
    );
  });

  test('a form that the API refuses shows the reason, with the status of the API', async () => {
    replies.set('POST /payments/31/pay', { status: 409, body: { message: 'It is rejected already.' } });
    const [browser, page] = await signedInPage();
    const answer = await decide(browser, page, 'pay', { reference: 'PAYA-1' });
    expect([answer.status, answer.html.includes('It is rejected already.')]).toEqual([409, true]);
  });

  test('a search form puts no personal data into an address', async () => {
    replies.set('GET /users', { status: 200, body: { data: [WITHDRAWAL.user] } });
    const browser = await signIn();
    const page = await browser.get(`${PATH}/users`);
    const results = await submit(browser, page, 'search', { search: 'sara@example.com' });
    expect([results.status, results.location]).toEqual([200, undefined]);
    expect(results.html).toContain('/ops/members/5?');
    expect(results.html).not.toMatch(/(?:href|action)="[^"]*sara(?:@|%40)/);
  });
});

describe('license documents', () => {
  const gym = (mediaId: number) => ({
    id: 4,
    name: 'Gym',
    gym_license_image: 'license.png',
    gym_license_link: `/api/v1/media/${mediaId}/license.png`,
    gym_license_approved: null,
  });

  test('a review applies only to the license document that was shown', async () => {
    replies.set('GET /gyms/4', { status: 200, body: { gym: gym(77) } });
    replies.set('PUT /gyms/4', { status: 409, body: { message: 'Another document is there by now.' } });
    const browser = await signIn();
    const page = await browser.get(`${PATH}/licenses?kind=gym&id=4`);
    expect(page.html).toContain('src="/ops/documents/77"');
    const shown = await submit(browser, page, 'approve');
    const answer = await submit(browser, shown, 'confirm_approve');
    expect(calls).toContain('gyms PUT /gyms/4 {"gym_license_approved":true,"gym_license_media_id":77}');
    expect(answer.status).toBe(409);
    expect(answer.html).toContain('Another document is there by now.');
    replies.set('GET /gyms/4', { status: 200, body: { gym: gym(78) } });
    calls.length = 0;
    for (const [from, button] of [
      [page, 'approve'],
      [shown, 'confirm_approve'],
    ] as const) {
      const { html } = await submit(browser, from, button);
      expect(html).toContain('This license document has been replaced.');
      expect(html).not.toContain('value="confirm_approve"');
    }
    expect(calls.filter((call) => call.includes('PUT'))).toEqual([]);
  });

  test('a license document is requested as this operator, and shown in a sandbox', async () => {
    gateway.upstreams.media.handler = (_request, response) =>
      void response.writeHead(200, { 'content-type': 'image/png' }).end('bytes');
    const browser = await signIn();
    const shown = await browser.get(`${PATH}/documents/77`);
    expect([shown.status, shown.html, shown.headers.get('content-type')]).toEqual([
      200,
      'bytes',
      'image/png',
    ]);
    expect(shown.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
    const received = gateway.upstreams.media.received.at(-1);
    expect([received?.url, received?.caller]).toMatchObject(['/api/v1/media/77/document', { userId: 9 }]);
    expect((await browse().get(`${PATH}/documents/77`)).status).toBe(401);
  });

  test.each([
    ['a type that a browser may run', 200, 'text/html'],
    ['a refusal', 403, 'application/json'],
  ])('%s of the media service is not passed on', async (_which, status, type) => {
    gateway.upstreams.media.handler = (_request, response) =>
      void response.writeHead(status, { 'content-type': type }).end('<script>');
    const { status: shown, html } = await (await signIn()).get(`${PATH}/documents/77`);
    expect([shown, html.includes('<script>')]).toEqual([404, false]);
  });
});

describe('live changes', () => {
  const open = async (browser: Browser, section: string, headers: Record<string, string> = {}) => {
    const [cookie] = [...browser.cookies.values()];
    const response = await fetch(`${gateway.url}${PATH}/live?section=${section}`, {
      headers: { cookie: `__Host-ops=${cookie?.value}`, ...headers },
    });
    return response;
  };
  /** Reads until the text `expected` arrives or the stream ends. */
  const readUntil = async (response: Response, expected: string): Promise<string> => {
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
      if (text.includes(expected)) break;
    }
    return text;
  };

  test('a page without forms receives its new content', async () => {
    const stream = await open(await signIn(), '');
    expect(stream.headers.get('content-type')).toContain('text/event-stream');
    replies.set('GET /operations', {
      status: 200,
      body: { ...STATUS, outbox: { waiting: 4_321, lag_s: 0 } },
    });
    const text = await readUntil(stream, '4,321');
    expect(text).toContain('event: content\ndata: "');
  });

  test('a page with forms is only notified of a change, because someone may be typing', async () => {
    const stream = await open(await signIn(), 'withdrawals');
    replies.set('GET /payments', { status: 200, body: { data: [], meta: {} } });
    expect(await readUntil(stream, 'changed')).toContain('event: changed\n');
  });

  test('four streams of a session stay open, and a fifth ends at once and receives what has changed when it returns', async () => {
    const browser = await signIn();
    const streams = await Promise.all(Array.from({ length: 4 }, () => open(browser, 'withdrawals')));
    const poll = async (lastId = '') => {
      const response = await open(browser, 'withdrawals', lastId === '' ? {} : { 'last-event-id': lastId });
      return response.text();
    };
    const id = /^id: (.*)$/m.exec(await poll())?.[1];
    expect(await poll(id)).not.toContain('event: changed');
    replies.set('GET /payments', { status: 200, body: { data: [], meta: {} } });
    expect(await poll(id)).toContain('event: changed\n');
    const other = 'fps_other_session';
    gateway.tokens.set(other, operatorOf(PERMISSIONS, { tokenId: 'other' }));
    const stream = await open(browser, 'withdrawals', { cookie: `__Host-ops=user.${other}` });
    replies.set('GET /payments', { status: 200, body: { data: [WITHDRAWAL], meta: {} } });
    expect(await readUntil(stream, 'changed')).toContain('event: changed\n');
    for (const { body } of streams) await body?.cancel();
  });

  test('live changes end with the session', async () => {
    const stream = await open(await signIn(), '');
    gateway.tokens.delete(TOKEN);
    expect(await readUntil(stream, 'never')).toMatch(/event: ended\ndata:\n\n$/);
  });

  test('live changes require a session that may see the section', async () => {
    expect((await fetch(`${gateway.url}${PATH}/live`)).status).toBe(401);
    const browser = await signIn();
    gateway.tokens.set(TOKEN, operatorOf(['audit.view']));
    const refused = await open(browser, 'withdrawals');
    expect(refused.status).toBe(403);
  });
});

test('a guest sees the sign-in page, and no service is called', async () => {
  const page = await browse().get(PATH);
  expect([page.status, page.html.includes('value="login"')]).toEqual([200, true]);
  expect(page.headers.get('content-security-policy')).not.toContain('script-src');
  expect([calls, allReceived(gateway)]).toEqual([[], []]);
});
