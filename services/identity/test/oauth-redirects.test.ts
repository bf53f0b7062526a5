/** No link to the authorization server leads to an address that a stranger has registered (RFC 9700, 4.11.2). */
import { createPkce, type OauthClient, type Params } from '@fitness/contracts/testing/oauth-client.ts';
import type { Browser, BrowserPage } from '@fitness/shared/testing/browser.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createOauthUser, IGNORED_PARAMETERS, type OauthUser, oauthOf } from './oauth-support.ts';
import { type Harness, startHarness } from './support.ts';

const ADDRESS = 'https://stranger.example/landing?a=1';
const SCHEME = 'com.example.app:/callback';

let harness: Harness;
let oauth: OauthClient;
let person: OauthUser;
let clientId: string;
beforeAll(async () => {
  harness = await startHarness();
  oauth = oauthOf(harness);
  person = await createOauthUser(harness);
  clientId = await oauth.newClient({ redirect_uris: [ADDRESS, SCHEME] });
});
afterAll(() => harness.close());

const urlOf = (params: Params, more = ''): string =>
  `${oauth.authorizeUrl({ client_id: clientId, redirect_uri: ADDRESS, code_challenge: createPkce().challenge, state: 's&"<', ...params })}${more}`;

const isOurs = ({ location }: BrowserPage): boolean =>
  location === undefined || location.pathname.startsWith('/oauth/');

/** The target of the only link on the page. */
const linkOf = ({ html }: BrowserPage): URL | undefined => {
  const [href, ...others] = [...html.matchAll(/<a class="button[^"]*" [^>]*href="([^"]+)"/g)].map(
    ([, match]) => (match ?? '').replaceAll('&amp;', '&'),
  );
  expect(others).toEqual([]);
  return href === undefined ? undefined : new URL(href);
};

/** Signs in for another app, which leaves a session of fifteen minutes in this browser. */
const withSession = async (): Promise<Browser> => {
  const browser = oauth.browse();
  const params = { client_id: await oauth.newClient(), code_challenge: createPkce().challenge };
  await browser.follow(await browser.submit(await oauth.signIn(browser, params, person), 'allow'));
  return browser;
};
const copyOf = ({ cookies }: Browser): Browser => {
  const copy = oauth.browse();
  for (const [name, cookie] of cookies) copy.cookies.set(name, cookie);
  return copy;
};

const INVALID: [string, Params, string][] = [
  ['without any page', { prompt: 'none' }, ''],
  ['with a plain challenge', { code_challenge_method: 'plain' }, ''],
  ['with a challenge but no method', { code_challenge_method: undefined }, ''],
  ['with a challenge that is too short', { code_challenge: 'short' }, ''],
  ['for a token', { response_type: 'token' }, ''],
  ['for a token and an ID token', { response_type: 'id_token token' }, ''],
  ['for an ID token', { response_type: 'code id_token' }, ''],
  ['for nothing', { response_type: undefined }, ''],
  ['for the response mode form_post', { response_mode: 'form_post' }, ''],
  ['for the response mode fragment', { response_mode: 'fragment' }, ''],
  ['for the response mode web_message', { response_mode: 'web_message' }, ''],
  ['for the response mode jwt', { response_mode: 'jwt' }, ''],
  ['for a resource of another origin', { resource: 'https://other.example' }, ''],
  ['for a resource that is no URI', { resource: 'not a url' }, ''],
  ['with an invalid scope', { scope: 'posts.view "<x>' }, ''],
  ['with two scopes', {}, '&scope=posts.view&scope=posts.view'],
  ['with two states', {}, '&state=other'],
  ['at an app’s scheme, without any page', { redirect_uri: SCHEME, prompt: 'none' }, ''],
];

describe('an invalid authorization request', () => {
  test.each(INVALID)(
    'an invalid request %s shows its destination and waits for the person',
    async (_which, params, more) => {
      const page = await oauth.browse().get(urlOf(params, more));
      expect([page.status, page.location?.href]).toEqual([400, undefined]);
      expect(page.headers.get('refresh')).toBeNull();
      expect(page.html).not.toMatch(/<meta[^>]*refresh|<script/i);
      const host = params.redirect_uri === SCHEME ? 'com.example.app:' : 'stranger.example';
      expect(page.html).toContain(host);
      const link = linkOf(page);
      expect(link?.href.startsWith(params.redirect_uri ?? 'https://stranger.example/landing')).toBe(true);
      const answer = new URLSearchParams(link?.hash === '' ? link.search : link?.hash.slice(1));
      expect([answer.get('error'), answer.get('iss')]).toEqual([
        expect.stringMatching(/^[a-z_]+$/),
        'http://api.test',
      ]);
      expect(answer.get('code') ?? answer.get('access_token')).toBeNull();
    },
  );

  test('an invalid request is redirected if the browser has a session', async () => {
    const browser = await withSession();
    for (const [, params, more] of INVALID) {
      const page = await copyOf(browser).get(urlOf(params, more));
      const { href } = page.location ?? {};
      expect([params, page.status, href?.includes('error=')]).toEqual([params, 303, true]);
      expect(href?.startsWith(params.redirect_uri ?? 'https://stranger.example/')).toBe(true);
    }
  });

  test('an invalid request is not redirected with an ended or a forged session', async () => {
    const browser = await withSession();
    const url = urlOf({ prompt: 'none' });
    const session = [...browser.cookies].filter(([name]) => name.startsWith('fitness_oauth_session'));
    expect(session.length).toBe(2);
    const [name = '', { value = '' } = {}] = session.find(([key]) => !key.includes('.sig ')) ?? [];
    const forged = { cookie: `${name.split(' ')[0]}=${value}` };
    expect(isOurs(await oauth.browse().get(url, forged))).toBe(true);
    harness.clock.advance(16 * 60_000);
    expect(isOurs(await browser.get(url))).toBe(true);
  });
});

test('cancelling before signing in shows a page with the destination, and does not redirect', async () => {
  const browser = oauth.browse();
  const login = await browser.follow(await browser.get(urlOf({})));
  const page = await browser.follow(await browser.submit(login, 'cancel'));
  expect([page.status, page.location?.href]).toEqual([200, undefined]);
  expect(page.html).toContain('stranger.example');
  const answer = linkOf(page)?.searchParams;
  expect(Object.fromEntries(answer ?? [])).toMatchObject({
    a: '1',
    error: 'access_denied',
    state: 's&"<',
    iss: 'http://api.test',
  });
});

test('cancelling the consent redirects to the client, because the user has signed in', async () => {
  const browser = oauth.browse();
  const params = { client_id: clientId, redirect_uri: ADDRESS, code_challenge: createPkce().challenge };
  const consent = await oauth.signIn(browser, params, person);
  const { location } = await browser.follow(await browser.submit(consent, 'cancel'));
  expect([location?.host, location?.searchParams.get('error')]).toEqual([
    'stranger.example',
    'access_denied',
  ]);
});

test('another person may sign in with the same browser', async () => {
  const browser = await withSession();
  const other = await createOauthUser(harness);
  const params = { client_id: await oauth.newClient(), code_challenge: createPkce().challenge };
  const consent = await oauth.signIn(browser, params, other);
  expect(consent.html).toContain(other.login);
  const back = await browser.follow(await browser.submit(consent, 'allow'));
  expect(back.location?.searchParams.get('code')).toMatch(/^fpc_/);
});

describe('two sign-in tabs of one browser', () => {
  const open = async (browser: Browser, as: OauthUser): Promise<BrowserPage> =>
    oauth.signIn(browser, { client_id: await oauth.newClient(), code_challenge: createPkce().challenge }, as);
  const allow = async (browser: Browser, consent: BrowserPage): Promise<BrowserPage> =>
    browser.follow(await browser.submit(consent, 'allow'));
  const recordedOf = async ({ caller: as }: OauthUser): Promise<unknown[]> => {
    const [grants, notifications] = await Promise.all(
      ['/auth/grants', '/notifications'].map((path) => harness.send('GET', path, { as })),
    );
    return [grants?.body.data.length, notifications?.body.data.length];
  };

  test('several tabs of one person each give a code, in any order', async () => {
    const browser = oauth.browse();
    const owner = await createOauthUser(harness);
    const [first, second, third] = [
      await open(browser, owner),
      await open(browser, owner),
      await open(browser, owner),
    ];
    for (const consent of [first, third, second]) {
      const back = await allow(browser, consent);
      expect(back.location?.searchParams.get('code')).toMatch(/^fpc_/);
    }
    expect(await recordedOf(owner)).toEqual([3, 3]);
  });

  test('with tabs of two people, only the last one to sign in gets a code and a record', async () => {
    const browser = oauth.browse();
    const [one, other] = [await createOauthUser(harness), await createOauthUser(harness)];
    const [earlier, latest] = [await open(browser, one), await open(browser, other)];
    const refusal = await browser.submit(earlier, 'allow');
    expect([refusal.status, refusal.location]).toEqual([400, undefined]);
    expect(await recordedOf(one)).toEqual([0, 0]);
    const back = await allow(browser, latest);
    expect(back.location?.searchParams.get('code')).toMatch(/^fpc_/);
    expect(await recordedOf(other)).toEqual([1, 1]);
  });

  test('a browser that has lost its session records nothing', async () => {
    const browser = oauth.browse();
    const owner = await createOauthUser(harness);
    const consent = await open(browser, owner);
    for (const name of browser.cookies.keys()) {
      if (name.startsWith('fitness_oauth_session')) browser.cookies.delete(name);
    }
    expect((await browser.submit(consent, 'allow')).status).toBe(400);
    expect(await recordedOf(owner)).toEqual([0, 0]);
  });
});

describe('parameters that are not part of OAuth', () => {
  test('parameters that are not part of OAuth lead to the sign-in as any request (RFC 6749, 3.1 and 3.3)', async () => {
    const client_id = await oauth.newClient();
    for (const more of IGNORED_PARAMETERS) {
      const params = {
        client_id,
        code_challenge: createPkce().challenge,
        scope: 'payments.view_own',
        ...more,
      };
      const page = await oauth.browse().get(oauth.authorizeUrl(params));
      expect([more, page.status, page.location?.pathname.startsWith('/oauth/interaction/')]).toEqual([
        more,
        303,
        true,
      ]);
    }
  });

  test('a request with such parameters gives a code', async () => {
    const back = await oauth.authorize(
      {
        client_id: await oauth.newClient(),
        code_challenge: createPkce().challenge,
        ...{ nonce: 'n-1', max_age: '0', id_token_hint: 'x', acr_values: '1', claims: '{' },
        ...{ display: 'popup', prompt: 'login consent', request: 'eyJhbGciOiJub25lIn0.e30.' },
        ...{ request_uri: 'https://stranger.example/request', response_mode: '', resource: '' },
        scope: 'openid payments.view_own something.unknown',
      },
      person,
    );
    expect([back.searchParams.get('error'), back.searchParams.get('code')]).toEqual([
      null,
      expect.stringMatching(/^fpc_/),
    ]);
  });

  test('unknown parameters are ignored even if they occur twice', async () => {
    const browser = oauth.browse();
    const page = await browser.get(urlOf({}, '&nonce=1&nonce=2&max_age=1&max_age=2'));
    expect([page.status, page.location?.pathname.startsWith('/oauth/interaction/')]).toEqual([303, true]);
  });

  test('a token gets only the known scopes, or those for reading if there is none', async () => {
    const mixed = await oauth.connect(person, { scope: 'openid payments.view_own something.unknown' });
    expect(mixed.scope).toBe('payments.view_own');
    const openid = await oauth.connect(person, { scope: 'openid profile' });
    expect(openid.scope.split(' ')).toContain('posts.view');
  });

  test('unknown metadata is ignored at registration', async () => {
    const { status, body } = await oauth.register({
      scope: 'openid payments.view_own',
      subject_type: 'pairwise',
      default_max_age: 60,
      require_auth_time: true,
      default_acr_values: ['x'],
      id_token_signed_response_alg: 'RS256',
    });
    expect(status).toBe(201);
    const params = { client_id: body.client_id, code_challenge: createPkce().challenge };
    expect((await oauth.authorize(params, person)).searchParams.get('code')).toMatch(/^fpc_/);
  });
});
