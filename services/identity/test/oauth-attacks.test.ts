/** Attacks on the authorization server: none of them obtains a grant or causes a 500. */
import { randomBytes } from 'node:crypto';
import { OAUTH_PATHS } from '@fitness/contracts/oauth.ts';
import {
  createPkce,
  type OauthClient,
  type Params,
  REDIRECT_URI,
} from '@fitness/contracts/testing/oauth-client.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { formOf } from '@fitness/shared/testing/browser.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createAdapterFactory, toRecord } from '../src/oauth/adapter.ts';
import { createStore } from '../src/store/store.ts';
import { createOauthUser, fromGateway, type OauthUser, oauthOf } from './oauth-support.ts';
import { type Harness, isLive, noEpochs, startHarness } from './support.ts';

let harness: Harness;
let oauth: OauthClient;
/** A user and a client for attacks that do not change them. */
let targetUser: OauthUser;
let clientId: string;

beforeAll(async () => {
  harness = await startHarness();
  oauth = oauthOf(harness);
  targetUser = await createOauthUser(harness);
  clientId = await oauth.newClient();
});
afterAll(() => harness.close());

const grantsOf = (person: OauthUser): Promise<number> =>
  harness.database.collection('oauth_records').countDocuments({
    user_id: person.id,
    _id: /^Grant:/ as never,
  });

const refused = ({ status, body }: { status: number; body: { error?: string } }) => [status, body.error];
const INVALID_GRANT = [400, 'invalid_grant'];

describe('a code', () => {
  test('a second use of a code revokes the tokens that were issued for it', async () => {
    const { clientId, code, verifier } = await oauth.newCode(targetUser);
    const { body } = await oauth.exchange(clientId, code, verifier);
    expect(await isLive(harness, body.access_token)).toBe(true);
    expect(refused(await oauth.exchange(clientId, code, verifier))).toEqual(INVALID_GRANT);
    expect(await isLive(harness, body.access_token)).toBe(false);
    expect(refused(await oauth.refresh(clientId, body.refresh_token))).toEqual(INVALID_GRANT);
  });

  test('twenty concurrent uses of a code give tokens at most once, and revoke them', async () => {
    const person = await createOauthUser(harness);
    const { clientId, code, verifier } = await oauth.newCode(person);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => oauth.exchange(clientId, code, verifier)),
    );
    const successes = answers.filter(({ status }) => status === 200);
    expect(successes.length).toBeLessThanOrEqual(1);
    for (const answer of answers) if (answer.status !== 200) expect(refused(answer)).toEqual(INVALID_GRANT);
    for (const { body } of successes) expect(await isLive(harness, body.access_token)).toBe(false);
    expect(await grantsOf(person)).toBe(0);
  });

  test.each<[string, (valid: { verifier: string }) => Params]>([
    ['with another verifier', () => ({ code_verifier: createPkce().verifier })],
    ['without a verifier', () => ({ code_verifier: undefined })],
    [
      'with the challenge in place of the verifier',
      ({ verifier }) => ({ code_verifier: verifier.toUpperCase() }),
    ],
    ['with a verifier that is too short', () => ({ code_verifier: 'short' })],
    ['for another redirect URI', () => ({ redirect_uri: `${REDIRECT_URI}/` })],
    ['without a redirect URI', () => ({ redirect_uri: undefined })],
    ['replaced by one that was never issued', () => ({ code: `fpc_${'a'.repeat(48)}` })],
    ['replaced by an object', () => ({ code: undefined, 'code[$ne]': 'x' })],
  ])('a code %s is refused, and stays valid for its client', async (_what, change) => {
    const { clientId, code, verifier } = await oauth.newCode(targetUser);
    const answer = await oauth.exchange(clientId, code, verifier, change({ verifier }));
    expect(answer.status).toBe(400);
    expect(answer.body.access_token).toBeUndefined();
    expect((await oauth.exchange(clientId, code, verifier)).status).toBe(200);
  });

  test('a code is refused for a resource of another origin', async () => {
    const { clientId, code, verifier } = await oauth.newCode(targetUser);
    const resource = 'https://elsewhere.example/mcp';
    expect(refused(await oauth.exchange(clientId, code, verifier, { resource }))).toEqual([
      400,
      'invalid_target',
    ]);
  });

  test('a code of one client is refused for another client', async () => {
    const { code, verifier } = await oauth.newCode(targetUser);
    expect(refused(await oauth.exchange(clientId, code, verifier))).toEqual(INVALID_GRANT);
  });

  test('a stolen code that is injected into another request fails because of its verifier', async () => {
    const stolen = await oauth.newCode(targetUser, { client_id: clientId });
    const injected = await oauth.newCode(await createOauthUser(harness), { client_id: clientId });
    expect(refused(await oauth.exchange(clientId, stolen.code, injected.verifier))).toEqual(INVALID_GRANT);
  });

  test('a code is not accepted as an access token or a refresh token', async () => {
    const { clientId, code } = await oauth.newCode(targetUser);
    expect(await isLive(harness, code)).toBe(false);
    expect(refused(await oauth.refresh(clientId, code))).toEqual(INVALID_GRANT);
  });
});

describe('a refresh token', () => {
  test('a refresh token works again within ten seconds, because its first response may be lost', async () => {
    const { clientId, accessToken, refreshToken } = await oauth.connect(targetUser);
    const lost = await oauth.refresh(clientId, refreshToken);
    harness.clock.advance(9_000);
    const next = await oauth.refresh(clientId, refreshToken);
    expect([lost.status, next.status]).toEqual([200, 200]);
    for (const token of [accessToken, lost.body.access_token, next.body.access_token]) {
      expect(await isLive(harness, token)).toBe(true);
    }
    expect((await oauth.refresh(clientId, next.body.refresh_token)).status).toBe(200);
  });

  test('a repeated use by another client within ten seconds is refused and changes nothing', async () => {
    const connected = await oauth.connect(targetUser);
    expect((await oauth.refresh(connected.clientId, connected.refreshToken)).status).toBe(200);
    expect(refused(await oauth.refresh(clientId, connected.refreshToken))).toEqual(INVALID_GRANT);
    expect((await oauth.refresh(connected.clientId, connected.refreshToken)).status).toBe(200);
  });

  test('a third use of a refresh token within ten seconds revokes the grant', async () => {
    const { clientId, accessToken, refreshToken } = await oauth.connect(targetUser);
    for (const expected of [200, 200, 400]) {
      expect((await oauth.refresh(clientId, refreshToken)).status).toBe(expected);
    }
    expect(await isLive(harness, accessToken)).toBe(false);
  });

  test('of two tokens issued for one, using the first retires the second, which may be stolen', async () => {
    const { clientId, refreshToken } = await oauth.connect(targetUser);
    const [one, other] = await Promise.all([
      oauth.refresh(clientId, refreshToken),
      oauth.refresh(clientId, refreshToken),
    ]);
    expect([one.status, other.status]).toEqual([200, 200]);
    const next = await oauth.refresh(clientId, one.body.refresh_token);
    expect(next.status).toBe(200);
    harness.clock.advance(10_000);
    expect(refused(await oauth.refresh(clientId, other.body.refresh_token))).toEqual(INVALID_GRANT);
    expect(await isLive(harness, next.body.access_token)).toBe(false);
  });

  test('using both tokens that were issued for one ends the grant, even within ten seconds', async () => {
    const { clientId, refreshToken } = await oauth.connect(targetUser);
    const one = await oauth.refresh(clientId, refreshToken);
    const other = await oauth.refresh(clientId, refreshToken);
    const next = await oauth.refresh(clientId, one.body.refresh_token);
    expect([one.status, other.status, next.status]).toEqual([200, 200, 200]);
    expect(refused(await oauth.refresh(clientId, other.body.refresh_token))).toEqual(INVALID_GRANT);
    expect(refused(await oauth.refresh(clientId, next.body.refresh_token))).toEqual(INVALID_GRANT);
    expect(await isLive(harness, next.body.access_token)).toBe(false);
  });

  test('two tokens issued for one never give two chains, in each of twenty races', async () => {
    const connected = await Promise.all(Array.from({ length: 20 }, () => oauth.connect(targetUser)));
    const races: Awaited<ReturnType<typeof oauth.refresh>>[][] = [];
    for (const { clientId, refreshToken } of connected) {
      const one = await oauth.refresh(clientId, refreshToken);
      const other = await oauth.refresh(clientId, refreshToken);
      races.push(
        await Promise.all([one, other].map(({ body }) => oauth.refresh(clientId, body.refresh_token))),
      );
    }
    const successes = races.map((answers) => answers.filter(({ status }) => status === 200).length);
    expect(Math.max(...successes)).toBeLessThanOrEqual(1);
    for (const { accessToken } of connected) expect(await isLive(harness, accessToken)).toBe(false);
  });

  test('a repetition after its response was used gives a token that ends the grant', async () => {
    const { clientId, refreshToken } = await oauth.connect(targetUser);
    const answer = await oauth.refresh(clientId, refreshToken);
    const next = await oauth.refresh(clientId, answer.body.refresh_token);
    const late = await oauth.refresh(clientId, refreshToken);
    expect([answer.status, next.status, late.status]).toEqual([200, 200, 200]);
    expect(refused(await oauth.refresh(clientId, late.body.refresh_token))).toEqual(INVALID_GRANT);
    for (const { body } of [answer, next, late]) expect(await isLive(harness, body.access_token)).toBe(false);
  });

  test('two concurrent uses of a refresh token both succeed in twenty races, and the app goes on', async () => {
    const connected = await Promise.all(Array.from({ length: 20 }, () => oauth.connect(targetUser)));
    const races: Awaited<ReturnType<typeof oauth.refresh>>[][] = [];
    // One race at a time: forty transactions at once may wait longer than one of them lives.
    for (const { clientId, refreshToken } of connected) {
      races.push(
        await Promise.all([oauth.refresh(clientId, refreshToken), oauth.refresh(clientId, refreshToken)]),
      );
    }
    expect(races.flat().filter(({ status }) => status !== 200)).toEqual([]);
    harness.clock.advance(60_000);
    for (const [index, answers] of races.entries()) {
      // The app keeps one of the two responses, whichever came last.
      const { clientId = '' } = connected[index] ?? {};
      const last = answers[index % 2]?.body;
      expect((await oauth.refresh(clientId, last.refresh_token)).status).toBe(200);
      expect(await isLive(harness, last.access_token)).toBe(true);
    }
  });

  test('a second use after ten seconds revokes the grant, because the token may be stolen', async () => {
    const { clientId, accessToken, refreshToken } = await oauth.connect(targetUser);
    const next = await oauth.refresh(clientId, refreshToken);
    expect(next.status).toBe(200);
    harness.clock.advance(10_000);
    expect(refused(await oauth.refresh(clientId, refreshToken))).toEqual(INVALID_GRANT);
    expect(await isLive(harness, accessToken)).toBe(false);
    expect(await isLive(harness, next.body.access_token)).toBe(false);
    expect(refused(await oauth.refresh(clientId, next.body.refresh_token))).toEqual(INVALID_GRANT);
  });

  test('twenty concurrent uses of a refresh token succeed at most twice, and revoke the tokens', async () => {
    const person = await createOauthUser(harness);
    const { clientId, refreshToken } = await oauth.connect(person);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => oauth.refresh(clientId, refreshToken)),
    );
    const successes = answers.filter(({ status }) => status === 200);
    expect(successes.length).toBeLessThanOrEqual(2);
    for (const answer of answers) if (answer.status !== 200) expect(refused(answer)).toEqual(INVALID_GRANT);
    for (const { body } of successes) {
      expect(await isLive(harness, body.access_token)).toBe(false);
      expect(refused(await oauth.refresh(clientId, body.refresh_token))).toEqual(INVALID_GRANT);
    }
    expect(await grantsOf(person)).toBe(0);
  });

  test('a refresh token is refused for another client, and is not an access token', async () => {
    const { refreshToken } = await oauth.connect(targetUser);
    expect(refused(await oauth.refresh(clientId, refreshToken))).toEqual(INVALID_GRANT);
    expect(await isLive(harness, refreshToken)).toBe(false);
  });

  test.each([
    ['a password', { grant_type: 'password', username: 'x', password: 'y' }],
    ['the client alone', { grant_type: 'client_credentials' }],
    ['nothing', {}],
    ['an implicit grant', { grant_type: 'implicit' }],
    ['two grants', { grant_type: 'authorization_code refresh_token' }],
    ['a device', { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: 'x' }],
  ])('no token is issued for %s', async (_what, params) => {
    const answer = await oauth.token({ client_id: clientId, ...params });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatch(/^(unsupported_grant_type|invalid_request)$/);
  });

  test('a refresh token is refused for an unknown client', async () => {
    const answer = await oauth.token({
      grant_type: 'refresh_token',
      client_id: 'nobody',
      refresh_token: 'x',
    });
    expect(refused(answer)).toEqual([401, 'invalid_client']);
  });
});

describe('two requests that both read a secret as unused', () => {
  test.each([
    ['AuthorizationCode', 1],
    ['RefreshToken', 2],
  ])('%s: a further use after %i revokes the grant', async (kind, uses) => {
    const person = await createOauthUser(harness);
    const grantId = randomBytes(8).toString('hex');
    const grant = { accountId: String(person.id), grantId };
    const store = createStore(harness.database, createLog({ service: 'test', level: 'silent' }), noEpochs);
    const epoch = (await harness.database.collection('users').findOne({ _id: person.id as never }))
      ?.credential_epoch as number;
    const later = new Date(harness.clock.now().getTime() + 60_000);
    await store.transaction((session) =>
      store.oauth.insertGrant(
        session,
        toRecord('Grant', grantId, { accountId: String(person.id) }, later),
        epoch,
      ),
    );
    const adapter = createAdapterFactory({
      store,
      clock: harness.clock,
      issuer: 'http://api.test',
      createGrantRevokedError: () => new Error('revoked'),
      createInteractionCompletedError: () => new Error('completed'),
    })(kind);
    await adapter.upsert('secret', grant, 60);
    const payloads = await Promise.all([adapter.find('secret'), adapter.find('secret')]);
    expect(payloads.map((payload) => payload?.consumed)).toEqual([undefined, undefined]);
    for (let use = 1; use <= uses; use += 1) await adapter.consume('secret');
    expect(await grantsOf(person)).toBe(1);
    await expect(adapter.consume('secret')).rejects.toThrow('revoked');
    expect(await grantsOf(person)).toBe(0);
    expect(await adapter.find('secret')).toBeUndefined();
  });
});

describe('an authorization request', () => {
  const request = async (params: Params) =>
    oauth
      .browse()
      .get(oauth.authorizeUrl({ client_id: clientId, code_challenge: createPkce().challenge, ...params }));

  test.each<[string, Params]>([
    ['no challenge and no method', { code_challenge: undefined, code_challenge_method: undefined }],
    ['a method but no challenge', { code_challenge: undefined }],
    ['an empty challenge', { code_challenge: '' }],
  ])('a request without PKCE (%s) shows an error page and is not redirected', async (_what, params) => {
    const page = await request({ state: 'kept', ...params });
    expect([page.status, page.location]).toEqual([400, undefined]);
    expect(page.html).toContain('invalid_request');
    expect(page.html).not.toContain(REDIRECT_URI);
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(page.headers.getSetCookie()).toEqual([]);
  });

  test.each([
    'http://127.0.0.1:7777/callback/',
    'http://127.0.0.1:7777/callback?x=1',
    'http://127.0.0.1:77777/callback',
    'http://127.0.0.1:/callback',
    'http://127.0.0.1:7777/Callback',
    'http://127.0.0.1:7777/x/../callback',
    'HTTP://127.0.0.1:7777/callback',
    'http://localhost:7777/callback',
    'http://LOCALHOST:7777/callback',
    'http://127.0.0.1:7777@evil.example/callback',
    'https://evil.example/callback',
    'javascript:alert(1)',
    '//evil.example/callback',
    '',
  ])('a request with the unregistered redirect URI %j is not redirected', async (redirect_uri) => {
    const page = await request({ redirect_uri, state: 'kept' });
    expect([page.status, page.location]).toEqual([400, undefined]);
    expect(page.html).not.toContain('evil.example');
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  });

  test.each([
    ['127.0.0.1', 'web'],
    ['127.0.0.1', 'native'],
    ['[::1]', 'web'],
    ['[::1]', 'native'],
    ['localhost', 'web'],
    ['localhost', 'native'],
  ])(
    'a request may name any port of %s (%s client), even if none was registered',
    async (host, application_type) => {
      for (const port of ['', ':7777']) {
        const redirect_uris = [`http://${host}${port}/callback`];
        const client_id = await oauth.newClient({ application_type, redirect_uris });
        for (const other of ['', ':9999']) {
          const page = await request({ client_id, redirect_uri: `http://${host}${other}/callback` });
          expect([port, other, page.status]).toEqual([port, other, 303]);
        }
      }
    },
  );

  test('a request may not change the port of an https redirect URI', async () => {
    const redirect_uris = ['https://localhost:7777/callback', 'https://127.0.0.1:7777/callback'];
    const client_id = await oauth.newClient({ redirect_uris });
    for (const redirect_uri of redirect_uris) {
      expect((await request({ client_id, redirect_uri })).status).toBe(303);
      const page = await request({ client_id, redirect_uri: redirect_uri.replace('7777', '9999') });
      expect([page.status, page.location]).toEqual([400, undefined]);
    }
  });

  test('a request may change only the port of a loopback redirect URI (RFC 8252)', async () => {
    const native = await oauth.newClient();
    const sentTo = (redirect_uri: string) => request({ client_id: native, redirect_uri });
    expect((await sentTo('http://127.0.0.1:9999/callback')).status).toBe(303);
    for (const other of [
      'http://127.0.0.1:9999/callback/',
      'http://127.0.0.1:9999/callback?x=1',
      'http://127.0.0.1:9999/callback#x',
      'http://a@127.0.0.1:9999/callback',
      'http://localhost:9999/callback',
      'http://127.0.0.1:9999@evil.example/callback',
      'http://127.0.0.1:9999\\@evil.example/callback',
      'https://127.0.0.1:9999/callback',
    ]) {
      const page = await sentTo(other);
      expect([other, page.status, page.location]).toEqual([other, 400, undefined]);
    }
    // The code is valid only for the port of the request.
    const redirect_uri = 'http://127.0.0.1:9999/callback';
    const issued = await oauth.newCode(targetUser, { client_id: native, redirect_uri });
    const elsewhere = { redirect_uri: 'http://127.0.0.1:9998/callback' };
    expect((await oauth.exchange(native, issued.code, issued.verifier, elsewhere)).status).toBe(400);
    expect((await oauth.exchange(native, issued.code, issued.verifier, { redirect_uri })).status).toBe(200);
  });

  test.each([undefined, '', 'nobody', 'a'.repeat(5_000), '__proto__', '{"$ne":1}'])(
    'a request of the unknown client %j is not redirected',
    async (client_id) => {
      const page = await request({ client_id });
      expect([page.status, page.location]).toEqual([400, undefined]);
    },
  );

  test('a request with a second redirect URI is not redirected there', async () => {
    const url = oauth.authorizeUrl({ client_id: clientId, code_challenge: createPkce().challenge });
    const page = await oauth.browse().get(`${url}&redirect_uri=https://evil.example/`);
    expect(page.location?.host ?? '').not.toBe('evil.example');
  });

  test('forwarded headers of another host do not replace the configured origin', async () => {
    const url = oauth.authorizeUrl({ client_id: clientId, code_challenge: createPkce().challenge });
    const headers = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      forwarded: 'host=evil.example',
    };
    const page = await oauth.browse().get(url, headers);
    expect(page.location?.host).not.toBe('evil.example');
    expect(page.headers.getSetCookie().join()).not.toContain('evil.example');
  });
});

describe('a registration', () => {
  test.each(['cursor', 'vscode', 'vscode-insiders', 'windsurf'])(
    'a registration with the known scheme %s is accepted',
    async (scheme) => {
      const redirect_uri = `${scheme}://publisher.extension/callback`;
      const { status, body } = await oauth.register({ redirect_uris: [redirect_uri] });
      expect([status, body.redirect_uris, body.application_type]).toEqual([201, [redirect_uri], 'native']);
      const issued = await oauth.newCode(targetUser, { client_id: body.client_id, redirect_uri });
      const tokens = await oauth.exchange(body.client_id, issued.code, issued.verifier, { redirect_uri });
      expect(tokens.status).toBe(200);
    },
  );

  test('a registration omits URIs with unknown schemes, and its response says so (RFC 7591, 3.2.1)', async () => {
    const accepted = ['cursor://a.b/callback', 'http://127.0.0.1/callback'];
    const unknown = ['myapp://callback', 'file:///etc/passwd', 'javascript:/alert(1)'];
    const { status, body } = await oauth.register({ redirect_uris: [...unknown, ...accepted] });
    expect([status, body.redirect_uris]).toEqual([201, accepted]);
    for (const redirect_uri of unknown) {
      const params = { client_id: body.client_id, redirect_uri, code_challenge: createPkce().challenge };
      const page = await oauth.browse().get(oauth.authorizeUrl(params));
      expect([redirect_uri, page.status, page.location?.href]).toEqual([redirect_uri, 400, undefined]);
    }
    // A mistake in another URI is reported.
    const mistaken = await oauth.register({ redirect_uris: [...accepted, 'http://client.example/'] });
    expect([mistaken.status, mistaken.body.error]).toEqual([400, 'invalid_redirect_uri']);
  });

  test.each<[string, Record<string, unknown>, string]>([
    ['with plain http', { redirect_uris: ['http://client.example/callback'] }, 'invalid_redirect_uri'],
    ['with a javascript URI', { redirect_uris: ['javascript:alert(1)//https://x'] }, 'invalid_redirect_uri'],
    ['with a data URI', { redirect_uris: ['data:text/html,x'] }, 'invalid_redirect_uri'],
    ...[
      'x://y',
      'myapp:/callback',
      'file:///etc/passwd',
      'blob:https://client.example/x',
      'about:blank',
      'vbscript:x',
      'intent://x#Intent;scheme=https;end',
      'com.example.app:callback',
      'com.example.app:',
      'com.example.app:/callback#x',
      'com.example.app://user@host/callback',
      'com.example.app:\\callback',
      'com.example.app:/call back',
      'com.example_app:/callback',
      'com..example:/callback',
      '.com.example:/callback',
      'com.example.:/callback',
      'com.-example:/callback',
      'COM.example.app:/callback',
      'javascript.example;alert(1):/',
    ].map((uri): [string, Record<string, unknown>, string] => [
      `of a native client with the URI ${uri}`,
      { redirect_uris: [uri], application_type: 'native' },
      'invalid_redirect_uri',
    ]),
    ['with a fragment', { redirect_uris: ['https://client.example/#x'] }, 'invalid_redirect_uri'],
    [
      'with user information',
      { redirect_uris: ['https://127.0.0.1@client.example/'] },
      'invalid_redirect_uri',
    ],
    ['with empty user information', { redirect_uris: ['https://@client.example/'] }, 'invalid_redirect_uri'],
    ['without slashes', { redirect_uris: ['https:client.example/'] }, 'invalid_redirect_uri'],
    ['with a wildcard host', { redirect_uris: ['https://*/'] }, 'invalid_redirect_uri'],
    ['with a wildcard subdomain', { redirect_uris: ['https://*.client.example/'] }, 'invalid_redirect_uri'],
    [
      'with a host that adds a directive to the content security policy',
      { redirect_uris: ['https://client.example;frame-ancestors/'] },
      'invalid_redirect_uri',
    ],
    [
      'with a host that ends the content security policy',
      { redirect_uris: ['https://client.example,x/'] },
      'invalid_redirect_uri',
    ],
    ['with a quoted host', { redirect_uris: ["https://'unsafe-inline'/"] }, 'invalid_redirect_uri'],
    [
      'with a host that looks local',
      { redirect_uris: ['http://127.0.0.1.client.example/'] },
      'invalid_redirect_uri',
    ],
    ['with backslashes', { redirect_uris: ['https:\\\\client.example/'] }, 'invalid_redirect_uri'],
    ['with a line break', { redirect_uris: ['https://client.example/\r\nx: y'] }, 'invalid_redirect_uri'],
    [
      'with a very long URI',
      { redirect_uris: [`https://client.example/${'a'.repeat(2_000)}`] },
      'invalid_redirect_uri',
    ],
    ['without a redirect URI', { redirect_uris: [] }, 'invalid_redirect_uri'],
    [
      'with eleven redirect URIs',
      { redirect_uris: Array.from({ length: 11 }, (_, i) => `https://c.example/${i}`) },
      'invalid_redirect_uri',
    ],
    ['with a string for a list', { redirect_uris: 'https://client.example/' }, 'invalid_redirect_uri'],
    ['with numbers', { redirect_uris: [1] }, 'invalid_redirect_uri'],
    ['with a name that is too long', { client_name: 'x'.repeat(101) }, 'invalid_client_metadata'],
    ['with an empty name', { client_name: ' ' }, 'invalid_client_metadata'],
    ['with half a character', { client_name: 'a\ud83d' }, 'invalid_client_metadata'],
    ['with a name that changes direction', { client_name: 'Bank\u202egnp.exe' }, 'invalid_client_metadata'],
    ['with a name that is not a string', { client_name: { en: 'x' } }, 'invalid_client_metadata'],
    ['with a secret', { token_endpoint_auth_method: 'client_secret_basic' }, 'invalid_client_metadata'],
    ['with a key', { token_endpoint_auth_method: 'private_key_jwt' }, 'invalid_client_metadata'],
    [
      'for the implicit grant',
      { grant_types: ['implicit'], response_types: ['token'] },
      'invalid_client_metadata',
    ],
    ['for the password grant', { grant_types: ['password'] }, 'invalid_client_metadata'],
  ])('a registration %s is refused', async (_what, metadata, error) => {
    expect(refused(await oauth.register(metadata))).toEqual([400, error]);
  });

  test.each(['not json', '[]', 'null', '"text"', '1', '{"redirect_uris":', ''])(
    'a registration with the body %j is refused',
    async (body) => {
      const headers = { ...(await fromGateway()), 'content-type': 'application/json' };
      const { status } = await fetch(`${harness.url}${OAUTH_PATHS.register}`, {
        method: 'POST',
        headers,
        body,
      });
      expect(status).toBe(400);
    },
  );

  const FIELDS = [
    'redirect_uris',
    'client_name',
    'grant_types',
    'response_types',
    'application_type',
    'token_endpoint_auth_method',
    'contacts',
    'jwks',
    'jwks_uri',
    'subject_type',
    'id_token_signed_response_alg',
    'default_max_age',
    'default_acr_values',
    'initiate_login_uri',
    'post_logout_redirect_uris',
    'sector_identifier_uri',
    'scope',
    'client_id_issued_at',
    'client_secret_expires_at',
    'request_uris',
    'response_modes',
    'software_version',
    'software_statement',
    '__proto__',
    'constructor',
  ];
  const STRANGE = [
    null,
    0,
    true,
    '',
    'javascript:alert(1)',
    [],
    {},
    [null],
    [{}],
    ['\ud800'],
    '\u0000',
    { $ne: 1 },
  ];

  test.each(FIELDS)('a registration with any value of %s returns 201 or 400', async (field) => {
    for (const value of STRANGE) {
      const { status } = await oauth.register(Object.fromEntries([[field, value]]));
      expect([field, value, [201, 400].includes(status)]).toEqual([field, value, true]);
    }
  });

  test.each<[string, unknown]>([
    [
      'with thousands of redirect URIs',
      { redirect_uris: Array.from({ length: 1_500 }, (_, i) => `https://c.example/${i}`) },
    ],
    ['with a body of 4 KiB', { redirect_uris: ['https://c.example/'], x: 'x'.repeat(4_096) }],
    ['with a body of 1 MB', { redirect_uris: ['https://c.example/'], x: 'x'.repeat(1_000_000) }],
  ])('a registration %s is refused with 413', async (_what, metadata) => {
    const { status, body } = await oauth.register(metadata as Record<string, unknown>);
    expect([status, body]).toEqual([413, { message: 'The request body is too large.' }]);
  });

  test.each([OAUTH_PATHS.token, OAUTH_PATHS.revoke])(
    'a form of more than 16 KiB for %s is rejected with 413',
    async (path) => {
      const post = async (body: string) =>
        fetch(`${harness.url}${path}`, {
          method: 'POST',
          headers: { ...(await fromGateway()), 'content-type': 'application/x-www-form-urlencoded' },
          body,
        });
      expect((await post('a&'.repeat(8 * 1024))).status).toBe(400);
      expect((await post('a&'.repeat(8 * 1024 + 1))).status).toBe(413);
    },
  );

  test('a registration with a large body of unknown length is refused', async () => {
    const text = JSON.stringify({ redirect_uris: ['https://c.example/'], x: 'x'.repeat(10_000) });
    const answer = await fetch(`${harness.url}${OAUTH_PATHS.register}`, {
      method: 'POST',
      headers: { ...(await fromGateway()), 'content-type': 'application/json' },
      body: new Blob([text]).stream(),
      duplex: 'half',
    } as RequestInit);
    expect(answer.status).toBe(413);
  });

  test('a registration that is nested a thousand levels deep is refused', async () => {
    const nested = JSON.parse(`${'['.repeat(1_000)}${']'.repeat(1_000)}`);
    expect((await oauth.register({ redirect_uris: nested })).status).toBe(400);
  });

  test.each([undefined, 'web', 'native'])(
    'a registration with a private-use scheme and the type %s becomes that of a native client',
    async (application_type) => {
      const redirect_uris = ['com.example.app:/callback', 'ir.example://oauth/callback?x=1'];
      const { status, body } = await oauth.register({ redirect_uris, application_type });
      expect([status, body.redirect_uris, body.application_type]).toEqual([201, redirect_uris, 'native']);
    },
  );

  test('metadata that would cause requests to other hosts or add trust is not stored', async () => {
    const { status, body } = await oauth.register({
      sector_identifier_uri: 'http://169.254.169.254/',
      jwks_uri: 'http://169.254.169.254/',
      logo_uri: 'http://169.254.169.254/',
      client_id: 'chosen-by-the-client',
      client_secret: 'chosen-by-the-client',
      scope: 'users.view_all',
      default_max_age: 1,
      redirect_uris: ['https://client.example/callback', 'http://[::1]/', 'http://localhost:3000/x?y=1'],
      client_name: 'مشتری\u200cمن',
    });
    expect(status).toBe(201);
    expect(Object.keys(body).sort()).toEqual([
      'application_type',
      'client_id',
      'client_id_issued_at',
      'client_name',
      'grant_types',
      'redirect_uris',
      'response_types',
      'token_endpoint_auth_method',
    ]);
    expect(body.client_id).not.toBe('chosen-by-the-client');
  });
});

describe('a form', () => {
  const open = async (person: OauthUser = targetUser) => {
    const browser = oauth.browse();
    const params = { client_id: clientId, code_challenge: createPkce().challenge };
    return { browser, consent: await oauth.signIn(browser, params, person) };
  };

  test.each<[string, Record<string, string>]>([
    ['no CSRF token', { csrf: '' }],
    ['a wrong CSRF token', { csrf: 'A'.repeat(43) }],
  ])('a consent form with %s grants nothing', async (_what, fields) => {
    const person = await createOauthUser(harness);
    const { browser, consent } = await open(person);
    const answer = await browser.submit(consent, 'allow', fields);
    expect([answer.status, answer.location]).toEqual([403, undefined]);
    expect(await grantsOf(person)).toBe(0);
  });

  test.each<[string, Record<string, string>]>([
    ['of another site', { 'sec-fetch-site': 'cross-site' }],
    ['of another subdomain', { 'sec-fetch-site': 'same-site' }],
    ['of another origin', { origin: 'https://evil.example' }],
  ])('a form %s is refused, even with its CSRF token', async (_what, headers) => {
    const { browser, consent } = await open();
    expect((await browser.submit(consent, 'allow', {}, headers)).status).toBe(403);
    expect((await browser.submit(consent, 'allow', {}, { 'sec-fetch-site': 'same-origin' })).status).toBe(
      303,
    );
  });

  test('a form of one browser is refused in another', async () => {
    const person = await createOauthUser(harness);
    const { consent } = await open(person);
    const stranger = await oauth.browse().submit(consent, 'allow');
    expect([stranger.status, stranger.location]).toEqual([400, undefined]);
    const { browser } = await open();
    const mixed = await browser.submit(consent, 'allow');
    expect([mixed.status, mixed.location]).toEqual([400, undefined]);
    expect(await grantsOf(person)).toBe(0);
  });

  test('a form of one request with the cookie of another request grants neither', async () => {
    const [person, other] = [await createOauthUser(harness), await createOauthUser(harness)];
    const [own, foreign] = [await open(person), await open(other)];
    // The cookies that a browser would send to the other page.
    const { action } = formOf(foreign.consent.html);
    const cookie = [...foreign.browser.cookies]
      .filter(([, { path }]) => action === path || action.startsWith(`${path}/`))
      .map(([key, { value }]) => `${key.split(' ')[0]}=${value}`)
      .join('; ');
    const answer = await own.browser.submit(own.consent, 'allow', {}, { cookie });
    expect([answer.status, answer.location]).toEqual([400, undefined]);
    expect([await grantsOf(person), await grantsOf(other)]).toEqual([0, 0]);
  });

  test('a form with a forged cookie is refused', async () => {
    const { consent } = await open();
    const { action } = formOf(consent.html);
    const forger = oauth.browse();
    const uid = action.split('/').at(-1) ?? '';
    const answer = await forger.submit(consent, 'allow', {}, { cookie: `fitness_oauth_interaction=${uid}` });
    expect(answer.status).toBe(400);
  });

  test('a form of the wrong step is refused: no consent before signing in, no second sign-in', async () => {
    const browser = oauth.browse();
    const params = { client_id: clientId, code_challenge: createPkce().challenge };
    const login = await browser.follow(await browser.get(oauth.authorizeUrl(params)));
    expect((await browser.submit(login, 'allow')).status).toBe(400);
    expect((await browser.submit(login, 'nonsense')).status).toBe(400);
    const consent = await browser.follow(
      await browser.submit(login, 'login', { login: targetUser.login, password: targetUser.password }),
    );
    expect(
      (await browser.submit(consent, 'login', { login: targetUser.login, password: targetUser.password }))
        .status,
    ).toBe(400);
  });

  test('a consent form that is submitted twenty times concurrently gives one code', async () => {
    const person = await createOauthUser(harness);
    const { browser, consent } = await open(person);
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () => browser.follow(await browser.submit(consent, 'allow'))),
    );
    const codes = answers.flatMap(({ location }) => location?.searchParams.get('code') ?? []);
    expect(codes.length).toBe(1);
    expect(await grantsOf(person)).toBe(1);
    for (const { status } of answers) expect(status).toBeLessThan(500);
  });

  test('a redirect that is followed twenty times concurrently gives one code', async () => {
    const person = await createOauthUser(harness);
    const { browser, consent } = await open(person);
    const { location } = await browser.submit(consent, 'allow');
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => browser.get(location?.pathname ?? '')),
    );
    const codes = answers.flatMap((page) => page.location?.searchParams.get('code') ?? []);
    expect(codes).toHaveLength(1);
    for (const { status } of answers) expect([303, 400]).toContain(status);
    const issued = await harness.database
      .collection('oauth_records')
      .countDocuments({ user_id: person.id, _id: /^AuthorizationCode:/ as never });
    expect(issued).toBe(1);
  });

  test.each(['%', '..%2f..', 'x'.repeat(300), '__proto__'])(
    'a form of the unknown interaction %s is refused',
    async (uid) => {
      const page = await oauth.browse().get(`${OAUTH_PATHS.interaction}/${uid}`);
      expect(page.status).toBeGreaterThanOrEqual(400);
      expect(page.status).toBeLessThan(500);
      const resumed = await oauth.browse().get(`${OAUTH_PATHS.authorize}/${uid}`);
      expect(resumed.status).toBeGreaterThanOrEqual(400);
      expect(resumed.status).toBeLessThan(500);
    },
  );
});
