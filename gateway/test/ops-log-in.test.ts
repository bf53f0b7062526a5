/** Signing in to `/ops` in two steps, and setting up the second factor. */
import { OPERATOR_PERMISSIONS, PERMISSIONS } from '@fitness/shared/kernel/permissions.ts';
import { type BrowserPage, createBrowser } from '@fitness/shared/testing/browser.ts';
import { caller } from '@fitness/shared/testing/harness.ts';
import { describe, expect, test } from '@jest/globals';
import decodeQR from 'qr/decode.js';
import {
  arrangeOps,
  browse,
  calls,
  clock,
  enter,
  gateway,
  operatorOf,
  PATH,
  replies,
  TOKEN,
} from './ops-support.ts';

arrangeOps();

const PASSWORD = 'secret-password';
const CODE_NEEDED = { status: 422, body: { errors: { totp: ['Enter a code.'] } } };
const sealedIn = ({ html }: BrowserPage): string => /name="kept" value="([^"]*)"/.exec(html)?.[1] ?? '';
const logIns = (): string[] => calls.filter((call) => call.includes('POST /auth/login'));

describe('signing in with a second factor', () => {
  test('the code is requested on a separate page, and the password is not requested again', async () => {
    replies.set('POST /auth/login', CODE_NEEDED);
    const browser = browse();
    const page = await enter(browser);
    expect([page.status, page.html.includes('class="problem"')]).toEqual([200, false]);
    expect([...page.html.matchAll(/<input name="(\w+)"/g)].map(([, name]) => name)).toEqual(['totp']);
    replies.set('POST /auth/login', { status: 200, body: { token: TOKEN } });
    const done = await browser.submit(page, 'code', { totp: '123456' });
    expect([done.status, done.location?.pathname]).toEqual([303, PATH]);
    expect(logIns()).toEqual([
      `identity POST /auth/login {"login":"op","password":"${PASSWORD}"}`,
      `identity POST /auth/login {"login":"op","password":"${PASSWORD}","totp":"123456"}`,
    ]);
  });

  test('the password is not readable in the page or the cookie, and its encrypted value varies', async () => {
    replies.set('POST /auth/login', CODE_NEEDED);
    const browser = browse();
    const [first, second] = [await enter(browser), await enter(browser)];
    const shown = [first, second].map(({ html, headers }) => html + headers.get('set-cookie')).join();
    const bytes = Buffer.from(sealedIn(first), 'base64url');
    for (const secret of [PASSWORD, Buffer.from(PASSWORD).toString('base64url').slice(0, 16)])
      expect(shown).not.toContain(secret);
    expect(bytes.includes(PASSWORD)).toBe(false);
    expect(sealedIn(first)).not.toBe(sealedIn(second));
  });

  test('a wrong code is shown at its field, and a changed password restarts the sign-in', async () => {
    replies.set('POST /auth/login', CODE_NEEDED);
    const browser = browse();
    const page = await enter(browser);
    const wrong = await browser.submit(page, 'code', { totp: '000000' });
    expect(wrong.status).toBe(422);
    expect(wrong.html).toMatch(/<input name="totp"[^>]* aria-invalid="true" aria-describedby="totp-problem"/);
    replies.set('POST /auth/login', { status: 429, body: { message: 'Too many.' } });
    const limited = await browser.submit(wrong, 'code', { totp: '000000' });
    expect([limited.status, limited.html.includes('Too many.'), sealedIn(limited)]).toEqual([
      429,
      true,
      sealedIn(page),
    ]);
    replies.set('POST /auth/login', { status: 422, body: { errors: { login: ['They do not match.'] } } });
    const again = await browser.submit(limited, 'code', { totp: '000000' });
    expect([again.status, again.html.includes('name="password"')]).toEqual([422, true]);
  });

  test.each([
    ['of another visitor', async () => sealedIn(await enter(browse()))],
    ['that was changed', async (sealed: string) => `${sealed.slice(0, -2)}AA`],
    ['that is malformed', async () => 'x'],
    ['that is missing', async () => ''],
  ])('a first step %s leads to the sign-in page, and identity is not called', async (_which, change) => {
    replies.set('POST /auth/login', CODE_NEEDED);
    const browser = browse();
    const page = await enter(browser);
    const sealed = await change(sealedIn(page));
    const before = logIns().length;
    const refused = await browser.submit(page, 'code', { kept: sealed, totp: '123456' });
    expect([refused.status, refused.html.includes('name="password"')]).toEqual([403, true]);
    expect(logIns()).toHaveLength(before);
  });

  test.each([
    ['en', 'Enter your username, email, or phone number.', 'Enter your password.'],
    ['fa', 'نام کاربری، ایمیل یا شمارهٔ موبایلتان را وارد کنید.', 'رمز عبورتان را وارد کنید.'],
  ])(
    'in %s, all empty fields are reported at once, and identity is not called',
    async (lang, login, password) => {
      const browser = browse();
      const page = await browser.get(`${PATH}?lang=${lang}`);
      const refused = await browser.submit(page, 'login', { login: ' ', password: '' });
      expect(refused.status).toBe(422);
      expect(refused.html).toContain(`id="login-problem">${login}`);
      expect(refused.html).toContain(`id="password-problem">${password}`);
      replies.set('POST /auth/login', CODE_NEEDED);
      const code = await browser.submit(await enter(browser), 'code', { totp: '' });
      expect([
        code.status,
        code.html.includes('id="totp-problem">Enter a code from your authenticator app'),
      ]).toEqual([422, true]);
      expect(logIns()).toHaveLength(1);
    },
  );

  test('the code must be entered within five minutes', async () => {
    replies.set('POST /auth/login', CODE_NEEDED);
    const browser = browse();
    const page = await enter(browser);
    clock.advance(299_000);
    const wrong = await browser.submit(page, 'code', { totp: '000000' });
    expect(wrong.status).toBe(422);
    clock.advance(1_000);
    // A wrong code does not extend the time.
    expect((await browser.submit(wrong, 'code', { totp: '123456' })).status).toBe(403);
  });
});

describe('an operator without a second factor', () => {
  const SECRET = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
  const URL_OF = `otpauth://totp/Fitness:op?issuer=Fitness&secret=${SECRET}&algorithm=SHA1&digits=6&period=30`;
  const arrange = (operator = operatorOf(PERMISSIONS, { hasSecondFactor: false })): void => {
    gateway.tokens.set(TOKEN, operator);
    replies.set('POST /auth/second-factor', { status: 200, body: { secret: SECRET, otpauth_url: URL_OF } });
  };
  const RECOVERY = { status: 200, body: { recovery_codes: ['ABCD-EFGH', 'IJKL-MNOP'] } };

  /** Draws the QR code of the page, and decodes it. */
  const readQr = ({ html }: BrowserPage): string => {
    const size = Number(/viewBox="0 0 (\d+) /.exec(html)?.[1]);
    const scale = 4;
    const width = size * scale;
    const data = new Uint8Array(width * width * 4).fill(255);
    for (const [, x, y] of html.matchAll(/M(\d+) (\d+)h1v1h-1z/g))
      for (let dy = 0; dy < scale; dy += 1)
        for (let dx = 0; dx < scale; dx += 1) {
          const at = ((Number(y) * scale + dy) * width + Number(x) * scale + dx) * 4;
          data.fill(0, at, at + 3);
        }
    return decodeQR({ width, height: width, data });
  };

  test.each([
    [
      'an operator whose permissions are withheld',
      { ...caller(9, ['posts.view']), withheld: OPERATOR_PERMISSIONS },
    ],
    ['an operator for whom it is optional', operatorOf(PERMISSIONS, { hasSecondFactor: false })],
  ])('%s scans a QR code, and is signed in after a code from the app', async (_which, operator) => {
    arrange(operator);
    const browser = browse();
    const page = await enter(browser);
    expect([page.status, page.html.includes('<nav')]).toEqual([200, false]);
    expect(readQr(page)).toBe(URL_OF);
    expect(page.html).toContain('GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ');
    expect(calls).toContain(`identity POST /auth/second-factor {"current_password":"${PASSWORD}"}`);
    replies.set('POST /auth/second-factor', RECOVERY);
    const done = await browser.submit(page, 'arm_second_factor', { totp: '123456' });
    expect(calls.at(-1)).toBe('identity POST /auth/second-factor {"totp":"123456"}');
    for (const code of RECOVERY.body.recovery_codes) expect(done.html).toContain(code);
    gateway.tokens.set(TOKEN, operatorOf(PERMISSIONS));
    expect((await browser.get(PATH)).html).toContain('<nav');
  });

  const inOneRound = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  test('a double click shows the recovery codes once, and leads to the page for new ones', async () => {
    arrange();
    const browser = browse();
    const page = await enter(browser);
    const on = { status: 409, body: { error: 'It is on.', code: 'auth.second_factor_armed' } };
    let armed = 0;
    gateway.upstreams.identity.handler = async (request, response) => {
      const isArm = request.url === '/api/v1/auth/second-factor';
      await request.toArray();
      armed += isArm ? 1 : 0;
      const reply = isArm ? (armed === 1 ? RECOVERY : on) : { status: 204, body: undefined };
      while (isArm && armed < 2) await inOneRound();
      response.writeHead(reply.status, { 'content-type': 'application/json' });
      response.end(reply.body && JSON.stringify(reply.body));
    };
    const [first, second] = await Promise.all(
      [1, 2].map(() => browser.submit(page, 'arm_second_factor', { totp: '123456' })),
    );
    const answers = [first, second].sort((a, b) => (a?.status ?? 0) - (b?.status ?? 0));
    expect(answers.map((answer) => [answer?.status, answer?.location?.pathname])).toEqual([
      [200, undefined],
      [303, `${PATH}/second-factor`],
    ]);
    for (const code of RECOVERY.body.recovery_codes) expect(answers[0]?.html).toContain(code);
  });

  test('a late last step leads to the second-factor page, without another request', async () => {
    arrange();
    const browser = browse();
    const page = await enter(browser);
    gateway.tokens.set(TOKEN, operatorOf(PERMISSIONS));
    calls.length = 0;
    for (const action of ['arm_second_factor', 'begin_second_factor']) {
      const late = await browser.submit(page, action, { totp: '123456', password: PASSWORD });
      expect([late.status, late.location?.pathname]).toEqual([303, `${PATH}/second-factor`]);
    }
    expect(calls.filter((call) => call.includes('second-factor'))).toEqual([]);
    const on = await browser.get(`${PATH}/second-factor`);
    expect([on.status, on.html.includes('Two-factor authentication is on.')]).toEqual([200, true]);
  });

  test('the recovery codes can be saved by a link without a script', async () => {
    arrange();
    const browser = browse();
    const page = await enter(browser);
    replies.set('POST /auth/second-factor', RECOVERY);
    const { html } = await browser.submit(page, 'arm_second_factor', { totp: '123456' });
    const [, data = ''] =
      /download="recovery-codes\.txt" href="data:text\/plain;charset=utf-8,([^"]*)"/.exec(html) ?? [];
    expect(decodeURIComponent(data)).toBe(RECOVERY.body.recovery_codes.join('\n'));
  });

  test.each([
    ['begin_second_factor', {}, 'password-problem">Enter your password.'],
    ['arm_second_factor', { totp: ' ' }, 'totp-problem">Enter the code that the app shows.'],
  ])('an empty form for %s reports the missing field, and calls no service', async (action, fields, text) => {
    arrange();
    const browser = browse();
    const page = await enter(browser);
    calls.length = 0;
    const refused = await browser.submit(page, action, fields);
    expect([refused.status, refused.html.includes(text)]).toEqual([422, true]);
    expect(calls.filter((call) => call.includes('second-factor'))).toEqual([]);
  });

  test('a wrong code is reported at its field, and the QR code stays the same', async () => {
    arrange();
    const browser = browse();
    const page = await enter(browser);
    replies.set('POST /auth/second-factor', { status: 422, body: { errors: { totp: ['It is wrong.'] } } });
    const wrong = await browser.submit(page, 'arm_second_factor', { totp: '000000' });
    expect([wrong.status, readQr(wrong)]).toEqual([422, URL_OF]);
    expect(wrong.html).toContain('id="totp-problem">It is wrong.');
  });

  test('an operator sees no section before the setup, which restarts with the password', async () => {
    arrange();
    const browser = browse();
    await enter(browser);
    calls.length = 0;
    for (const slug of ['', '/withdrawals', '/users?id=5']) {
      const page = await browser.get(`${PATH}${slug}`);
      expect([page.status, page.html.includes('<nav'), page.html.includes('begin_second_factor')]).toEqual([
        200,
        false,
        true,
      ]);
    }
    const page = await browser.get(PATH);
    for (const action of ['pay', 'confirm_pay']) await browser.submit(page, action, { payment_id: '31' });
    expect(calls.filter((call) => !call.includes('/session-limit'))).toEqual([]);
    const errors = { current_password: ['It is wrong.'] };
    replies.set('POST /auth/second-factor', { status: 422, body: { errors } });
    const wrong = await browser.submit(page, 'begin_second_factor', { password: 'x' });
    expect([wrong.status, wrong.html.includes('id="password-problem">It is wrong.')]).toEqual([422, true]);
    arrange();
    expect(readQr(await browser.submit(wrong, 'begin_second_factor', { password: PASSWORD }))).toBe(URL_OF);
  });

  test('the session before the setup is limited, and can be signed out', async () => {
    arrange();
    const browser = browse();
    const page = await enter(browser);
    expect(calls.some((call) => call.startsWith('identity POST /session-limit {"page":"ops"'))).toBe(true);
    const left = await browser.submit(page, 'sign_out');
    expect([left.status, [...browser.cookies]]).toEqual([303, []]);
    gateway.tokens.delete(TOKEN);
    expect((await createBrowser(gateway.url).get(PATH, { cookie: `__Host-ops=user.${TOKEN}` })).status).toBe(
      401,
    );
  });
});

describe('an operator with a second factor', () => {
  const SET_UP = { status: 200, body: { secret: 'GEZDGNBVGY3TQOJQ', otpauth_url: 'otpauth://totp/x' } };
  const open = async (): Promise<[ReturnType<typeof browse>, BrowserPage]> => {
    const browser = browse();
    await enter(browser);
    return [browser, await browser.get(`${PATH}/second-factor`)];
  };

  test('a second factor is replaced with the password and a code, and the new QR code is shown', async () => {
    replies.set('DELETE /auth/second-factor', { status: 204 });
    replies.set('POST /auth/second-factor', SET_UP);
    const [browser, page] = await open();
    calls.length = 0;
    const shown = await browser.submit(page, 'replace_second_factor', { password: PASSWORD, totp: '123456' });
    expect([shown.status, shown.html.includes('class="qr"')]).toEqual([200, true]);
    expect(calls.filter((call) => call.includes('second-factor'))).toEqual([
      `identity DELETE /auth/second-factor {"current_password":"${PASSWORD}","totp":"123456"}`,
      `identity POST /auth/second-factor {"current_password":"${PASSWORD}"}`,
    ]);
    // At a second click on the same form, the second factor is already off.
    gateway.tokens.set(TOKEN, operatorOf(PERMISSIONS, { hasSecondFactor: false }));
    const again = await browser.submit(page, 'replace_second_factor', { password: PASSWORD, totp: '123456' });
    expect([again.status, again.html.includes('class="qr"')]).toEqual([200, true]);
  });

  test.each([
    ['refuses', { status: 422, body: { errors: { current_password: ['It is wrong.'] } } }, 'It is wrong.'],
    ['limits', { status: 429, body: { message: 'Try again later.' } }, 'Try again later.'],
    ['does not confirm', undefined, 'We lost the connection'],
  ])(
    'an operator reads that the old second factor is off when the API %s a new one',
    async (_how, reply, text) => {
      replies.set('DELETE /auth/second-factor', { status: 204 });
      const answer = gateway.upstreams.identity.handler;
      gateway.upstreams.identity.handler = (request, response) => {
        const isSetUp = request.method === 'POST' && request.url?.endsWith('/auth/second-factor');
        if (isSetUp && reply === undefined) return void response.destroy();
        return answer?.(request, response);
      };
      if (reply !== undefined) replies.set('POST /auth/second-factor', reply);
      const [browser, page] = await open();
      const fields = { password: PASSWORD, totp: '123456' };
      const { status, html } = await browser.submit(page, 'replace_second_factor', fields);
      expect([status, html.includes(text)]).toEqual([reply?.status ?? 503, true]);
      expect(html).toContain('Your previous two-factor authentication is off.');
      expect(html).toContain('value="begin_second_factor"');
      // At the second click, the second factor is already off.
      gateway.tokens.set(TOKEN, operatorOf(PERMISSIONS, { hasSecondFactor: false }));
      const again = await browser.submit(page, 'replace_second_factor', fields);
      expect(again.html).toContain('Your previous two-factor authentication is off.');
    },
  );

  test.each([
    ['en', 'turns two-factor authentication off at once', 'Turn off and set up again'],
    ['fa', 'بلافاصله غیرفعال می‌شود', 'غیرفعال کردن و راه‌اندازی دوباره'],
  ])(
    'in %s, the button of a replacement says that it turns the second factor off',
    async (lang, lead, label) => {
      const browser = browse();
      await enter(browser);
      const { html } = await browser.get(`${PATH}/second-factor?lang=${lang}`);
      const form = html.split('<form ').find((text) => text.includes('replace_second_factor'));
      expect(form).toContain(
        `<button name="action" value="replace_second_factor" class="danger">${label}</button>`,
      );
      expect(form).toContain(lead);
    },
  );

  test('a second factor stays if the API refuses, and the reason is shown at the field', async () => {
    const errors = { totp: ['It was used.'] };
    replies.set('DELETE /auth/second-factor', { status: 422, body: { errors } });
    const [browser, page] = await open();
    const refused = await browser.submit(page, 'replace_second_factor', { password: PASSWORD, totp: '1' });
    expect([refused.status, refused.html.includes('id="totp-problem">It was used.')]).toEqual([422, true]);
    const empty = await browser.submit(page, 'replace_second_factor');
    expect(empty.html).toContain('id="password-problem">Enter your password.');
    expect(empty.html).toContain('id="totp-problem">Enter a code from your authenticator app');
    expect(calls.filter((call) => call.includes('POST /auth/second-factor'))).toEqual([]);
  });

  test('the second-factor page requires a sign-in', async () => {
    const page = await browse().get(`${PATH}/second-factor`);
    expect([page.status, page.html.includes('value="login"')]).toEqual([200, true]);
  });
});
