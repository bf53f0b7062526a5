/** The sign-in and consent pages: content, language, and what they allow a browser to do. */
import { READING_SCOPES } from '@fitness/contracts/oauth.ts';
import { createPkce, type OauthClient, type Params } from '@fitness/contracts/testing/oauth-client.ts';
import { formOf } from '@fitness/shared/testing/browser.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createOauthUser, type OauthUser, oauthOf } from './oauth-support.ts';
import { callerOf, type Harness, startHarness } from './support.ts';

let harness: Harness;
let oauth: OauthClient;
let person: OauthUser;

beforeAll(async () => {
  harness = await startHarness();
  oauth = oauthOf(harness);
  person = await createOauthUser(harness);
});
afterAll(() => harness.close());

const paramsFor = async (metadata: Record<string, unknown> = {}): Promise<Params> => ({
  client_id: await oauth.newClient(metadata),
  code_challenge: createPkce().challenge,
});

const openLogin = async (metadata?: Record<string, unknown>, headers?: Record<string, string>) => {
  const browser = oauth.browse();
  const redirected = await browser.get(oauth.authorizeUrl(await paramsFor(metadata)));
  return { browser, login: await browser.get(redirected.location?.pathname ?? '', headers) };
};

describe('a page', () => {
  test('a page is in Persian, from right to left, if the browser prefers Persian', async () => {
    const { login } = await openLogin({}, { 'accept-language': 'fa-IR, en;q=0.5' });
    expect(login.html).toContain('<html lang="fa" dir="rtl">');
    expect(login.html).toContain('رمز عبور');
    expect(login.headers.get('content-language')).toBe('fa');
  });

  test('a page is in English, from left to right, for any other language', async () => {
    const { login } = await openLogin({}, { 'accept-language': 'xx' });
    expect(login.html).toContain('<html lang="en" dir="ltr">');
    expect(login.html).toContain('Password');
  });

  test.each([
    ['https://client.example/callback', 'https://client.example'],
    ['https://client.example:8443/callback?x=1', 'https://client.example:8443'],
    ['http://127.0.0.1:7777/callback', 'http://127.0.0.1:7777'],
    ['http://localhost:1/callback', 'http://localhost:1'],
    // A content security policy cannot name an IPv6 address.
    ['http://[::1]:7777/callback', 'http:'],
  ])(
    'the form for %s may lead only to this origin and to %s, and no scripts run',
    async (redirect_uri, target) => {
      const browser = oauth.browse();
      const params = { ...(await paramsFor({ redirect_uris: [redirect_uri] })), redirect_uri };
      const { headers, html } = await browser.follow(await browser.get(oauth.authorizeUrl(params)));
      expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'self'; /);
      expect(headers.get('content-security-policy')).not.toMatch(/script-src|unsafe/);
      expect(headers.get('content-security-policy')).toContain(`; form-action 'self' ${target};`);
      expect(headers.get('content-security-policy')).toContain("; frame-ancestors 'none'");
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('cache-control')).toBe('no-store');
      expect(html).not.toMatch(/<script|<style|\sstyle=|\son\w+=|https?:\/\/(?!127)/i);
    },
  );

  test('a page escapes the name of a client', async () => {
    const client_name = `<img src=x onerror=alert(1)>"'&`;
    const browser = oauth.browse();
    const consent = await oauth.signIn(browser, await paramsFor({ client_name }), person);
    expect(consent.html).not.toContain('<img');
    expect(consent.html).toContain('&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;');
  });

  test('cookies of the pages are hidden from scripts and from other sites', async () => {
    const browser = oauth.browse();
    const page = await browser.get(oauth.authorizeUrl(await paramsFor()));
    const cookies = page.headers.getSetCookie();
    expect(cookies.length).toBeGreaterThanOrEqual(4);
    for (const cookie of cookies) expect(cookie).toMatch(/; samesite=lax; httponly/i);
  });
});

test('cookies are secure with an https origin, however the gateway is reached', async () => {
  const secure = await startHarness({ PUBLIC_BASE_URL: 'https://fit.example' });
  try {
    const client = oauthOf(secure);
    const params = { client_id: await client.newClient(), code_challenge: createPkce().challenge };
    const page = await client.browse().get(client.authorizeUrl(params));
    expect(page.status).toBe(303);
    for (const cookie of page.headers.getSetCookie()) {
      expect(cookie).toMatch(/^__Secure-fitness_oauth_.*; secure/i);
    }
    const foreign = { ...params, resource: 'http://api.test/mcp' };
    const refusal = await client.browse().get(client.authorizeUrl(foreign));
    expect([refusal.status, refusal.location?.href]).toEqual([400, undefined]);
    expect(refusal.html).toContain('error=invalid_target');
    expect(refusal.html).toContain('iss=https%3A%2F%2Ffit.example');
    const own = { ...params, resource: 'HTTPS://FIT.example/mcp/' };
    expect((await client.browse().get(client.authorizeUrl(own))).status).toBe(303);
    expect(
      (await client.browse().get(client.authorizeUrl(own))).location?.searchParams.get('error'),
    ).toBeNull();
  } finally {
    await secure.close();
  }
});

test('a page links to itself in the other language, and the next pages keep that language', async () => {
  const { browser, login } = await openLogin();
  const { action } = formOf(login.html);
  const [path] = action.split('?');
  expect(action).toBe(`${path}?lang=en`);
  expect(login.html).toContain(`<a href="${path}?lang=fa" lang="fa" hreflang="fa">فارسی</a>`);
  const persian = await browser.get(`${path}?lang=fa`, { 'accept-language': 'en' });
  expect(persian.html).toContain('<html lang="fa" dir="rtl">');
  const fields = { login: person.login, password: person.password };
  const consent = await browser.follow(await browser.submit(persian, 'login', fields));
  expect(consent.html).toContain('<html lang="fa" dir="rtl">');
  const english = await browser.get(formOf(consent.html).action.replace('lang=fa', 'lang=en'));
  expect(english.html).toContain('<html lang="en" dir="ltr">');
  expect(formOf(english.html).buttons).toEqual(['allow', 'cancel']);
});

test('a refused request can be shown in the other language, but a completed one cannot', async () => {
  const browser = oauth.browse();
  const url = oauth.authorizeUrl({ ...(await paramsFor()), prompt: 'none' });
  const refused = await browser.get(url);
  const [, link] = /<a href="([^"]*)" lang="fa"/.exec(refused.html) ?? [];
  const persian = await browser.get(String(link).replaceAll('&amp;', '&'));
  expect([refused.status, persian.status]).toEqual([400, 400]);
  expect(persian.html).toContain('<html lang="fa" dir="rtl">');
  expect(persian.location).toBeUndefined();
  const { browser: other, login } = await openLogin();
  const left = await other.follow(await other.submit(login, 'cancel'));
  expect([left.status, left.html.includes('hreflang')]).toEqual([200, false]);
});

describe('the consent page', () => {
  test('the consent page names the client, the account, the permissions and the destination', async () => {
    const browser = oauth.browse();
    const scope = 'payments.view_own payments.buy_premium users.view_all';
    const consent = await oauth.signIn(
      browser,
      { ...(await paramsFor({ client_name: 'Fit Friend' })), scope },
      person,
    );
    for (const text of [
      'Fit Friend',
      person.login,
      'see your profile, including your email address',
      'see your balance',
      'buy a premium subscription with the money in your wallet',
      '127.0.0.1:7777',
    ]) {
      expect(consent.html).toContain(text);
    }
    // The user does not hold this permission.
    expect(consent.html).not.toContain('every user');
  });

  const consentWith = async (scope: string) => {
    const browser = oauth.browse();
    const consent = await oauth.signIn(browser, { ...(await paramsFor()), scope }, person);
    const [, cannot = ''] = /<ul class="cannot"[^>]*>([\s\S]*?)<\/ul>/.exec(consent.html) ?? [];
    return [...cannot.matchAll(/<li>([^<]*)<\/li>/g)].map(([, text]) => text);
  };
  const NEVER = [
    'deposit money into your wallet, withdraw money from it, or buy training services',
    'see or change your password, or change your email address, phone number, bank account, or two-factor authentication',
    'delete your account without your password and the code that we send to your phone',
  ];

  test('the consent page says what no app can do, and what this one cannot do with its scopes', async () => {
    expect(await consentWith('posts.view')).toEqual([
      'see your balance or your payments',
      'spend the money in your wallet',
      'create, edit, or delete gyms, posts, or training services',
      ...NEVER,
    ]);
    expect(await consentWith('payments.view_own payments.boost_own gyms.create')).toEqual(NEVER);
  });

  test('the token cannot do what the consent page says no app can do', async () => {
    const scope = 'users.view_limited posts.view payments.view_own payments.buy_premium payments.boost_own';
    const { accessToken } = await oauth.connect(person, { scope });
    const caller = await callerOf(harness, accessToken);
    const change = { email: 'other@example.com', current_password: person.password };
    for (const [method, path, body] of [
      ['PUT', '/auth/me', change],
      ['PUT', '/auth/change-password', { current_password: person.password, password: 'another-pass-1' }],
      ['POST', '/auth/second-factor', { current_password: person.password }],
    ] as const) {
      expect((await harness.send(method, path, { as: caller, body })).status).toBe(403);
    }
  });

  test('the consent page describes a client without a name, even in Persian', async () => {
    const browser = oauth.browse();
    const params = await paramsFor({ client_name: undefined });
    const login = await browser.follow(await browser.get(oauth.authorizeUrl(params)));
    const sent = await browser.submit(login, 'login', { login: person.login, password: person.password });
    const resumed = await browser.get(sent.location?.pathname ?? '');
    const fa = await browser.get(resumed.location?.pathname ?? '', { 'accept-language': 'fa' });
    expect(fa.html).toContain('اپلیکیشن بی‌نام');
    expect(fa.html).toContain('موجودی، پرداخت‌ها');
  });

  test('the consent page asks for the reading scopes when the client requests none', async () => {
    const { accessToken } = await oauth.connect(person, { scope: undefined });
    expect((await callerOf(harness, accessToken)).permissions).toEqual(new Set(READING_SCOPES));
  });
});

describe('a sign-in on the page', () => {
  const submit = async (login: string, password: string, headers: Record<string, string> = {}) => {
    const { browser, login: page } = await openLogin();
    return browser.submit(page, 'login', { login, password }, headers);
  };

  test('wrong credentials give the same page whether or not the account exists', async () => {
    const wrong = await submit(person.login, 'not the password');
    const unknown = await submit('nobody.at.all', 'not the password');
    expect([wrong.status, unknown.status]).toEqual([422, 422]);
    expect(wrong.html).toContain(
      '<p class="problem" id="password-problem">Incorrect username or password.</p>',
    );
    expect(wrong.html).toMatch(/<input name="password"[^>]* aria-describedby="password-problem" autofocus>/);
    const anonymous = (html: string, login: string): string =>
      html.replace(login, '').replaceAll(/interaction\/[\w-]+|name="csrf" value="[\w-]+"/g, '');
    expect(anonymous(wrong.html, person.login)).toBe(anonymous(unknown.html, 'nobody.at.all'));
  });

  test('a failed sign-in shows the typed login again, escaped, and never the password', async () => {
    const again = await submit('"><img src=x onerror=alert(1)>', 'what was typed as a password');
    expect(again.status).toBe(422);
    expect(again.html).toContain('value="&quot;&gt;&lt;img src=x onerror=alert(1)&gt;"');
    expect(again.html).not.toContain('<img');
    expect(again.html).not.toContain('what was typed as a password');
  });

  test.each([
    [' ', 'x', 'id="login-problem">Enter your username, email, or phone number.'],
    ['x', '', 'id="password-problem">Enter your password.'],
  ])(
    'the form with login %j and password %j says at the field what to enter',
    async (login, password, text) => {
      const { status, html } = await submit(login, password);
      expect([status, html.includes(text)]).toEqual([422, true]);
    },
  );

  test.each([
    ['x'.repeat(255), 'x'],
    ['x', 'x'.repeat(1_001)],
    ['\u0000', '\u0000'],
    ['{"$gt":""}', '{"$gt":""}'],
  ])('a sign-in with login %j and password %j is refused', async (login, password) => {
    expect((await submit(login, password)).status).toBe(422);
  });

  test('sign-ins on the page and POST /auth/login share the limit of ten a minute', async () => {
    const other = await createOauthUser(harness);
    const headers = { 'x-client-address': '192.0.2.7' };
    for (let i = 0; i < 5; i += 1) {
      expect((await submit(other.login, 'wrong', headers)).status).toBe(422);
      const body = { login: other.login, password: 'wrong' };
      expect((await harness.send('POST', '/auth/login', { body, headers })).status).toBe(422);
    }
    const refused = await submit(other.login, other.password, headers);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.headers.get('x-ratelimit-limit')).toBe('10');
    expect(refused.html).toContain('name="password"');
    expect(refused.html).toContain('role="alert" tabindex="-1" autofocus>Too many requests.');
    expect(refused.html).not.toContain('aria-invalid');
    const elsewhere = { 'x-client-address': '192.0.2.8' };
    expect((await submit(other.login, other.password, elsewhere)).status).toBe(303);
  });

  test('a sign-in with a body that is too large or of another type is refused', async () => {
    const { browser, login } = await openLogin();
    expect((await browser.submit(login, 'login', { login: 'x'.repeat(20_000) })).status).toBe(413);
    const json = { 'content-type': 'application/json' };
    expect((await browser.submit(login, 'login', {}, json)).status).toBe(415);
    // Refused because of its origin, before it is read.
    const foreign = { origin: 'https://evil.example' };
    expect((await browser.submit(login, 'login', { login: 'x'.repeat(20_000) }, foreign)).status).toBe(403);
  });
});

describe('GetDeletionBlockers', () => {
  test('GetDeletionBlockers returns the blockers of the calling user and changes nothing', async () => {
    const owner = await createOauthUser(harness);
    harness.standIns.blockers = [
      { userId: owner.id, code: 'unsettled_balance', extras: { balance: -5 } },
      { userId: owner.id, code: 'gym_ownership', extras: { count: 2 } },
    ];
    const { blockers } = await harness.identity.call('GetDeletionBlockers', {}, { caller: owner.caller });
    expect(blockers).toEqual([
      { code: 'gym_ownership', extras_json: '{"count":2}' },
      { code: 'unsettled_balance', extras_json: '{"balance":-5}' },
    ]);
    const other = await harness.identity.call('GetDeletionBlockers', {}, { caller: person.caller });
    expect(other.blockers).toEqual([]);
    expect(
      await harness.database.collection('confirmation_codes').countDocuments({ _id: owner.id as never }),
    ).toBe(0);
  });

  test('GetDeletionBlockers refuses guests and tokens that may not see payments', async () => {
    await expect(harness.identity.call('GetDeletionBlockers', {})).rejects.toMatchObject({
      kind: 'unauthenticated',
    });
    const restricted = { ...person.caller, permissions: new Set(['posts.view' as const]) };
    await expect(
      harness.identity.call('GetDeletionBlockers', {}, { caller: restricted }),
    ).rejects.toMatchObject({ kind: 'forbidden' });
  });

  test('GetDeletionBlockers is unavailable when the owner of a blocker does not respond', async () => {
    harness.standIns.brokenBlocker = 'active_premium';
    await expect(
      harness.identity.call('GetDeletionBlockers', {}, { caller: person.caller }),
    ).rejects.toMatchObject({ kind: 'unavailable' });
    harness.standIns.brokenBlocker = undefined;
  });
});
