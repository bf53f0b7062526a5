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
import {
  type CodeCopies,
  copyCodes,
  createOauthUser,
  fromGateway,
  METADATA_FIELDS,
  type OauthUser,
  oauthOf,
  raceForOneChain,
  raceForOneRefresh,
  STRANGE_VALUES,
} from './oauth-support.ts';
import { type Harness, isLive, noEpochs, startHarness } from './support.ts';

let harness: Harness;
let oauth: OauthClient;
/** A user and a client for attacks that do not change them. */
let targetUser: OauthUser;
let clientId: string;
/** Codes of that user for another client. */
let codes: CodeCopies;

beforeAll(async () => {
  harness = await startHarness();
  oauth = oauthOf(harness);
  targetUser = await createOauthUser(harness);
  clientId = await oauth.newClient();
  codes = await copyCodes(harness, targetUser);
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
    const { clientId, code, verifier } = await codes.newCode();
    const { body } = await oauth.exchange(clientId, code, verifier);
    expect(await isLive(harness, body.access_token)).toBe(true);
    expect(refused(await oauth.exchange(clientId, code, verifier))).toEqual(INVALID_GRANT);
    expect(await isLive(harness, body.access_token)).toBe(false);
    expect(refused(await oauth.refresh(clientId, body.refresh_token))).toEqual(INVALID_GRANT);
  });

  test('twenty concurrent uses of a code give tokens at most once, and revoke them', async () => {
    const person = await createOauthUser(harness);
    const { clientId, code, verifier } = await codes.newCode(person);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => oauth.exchange(clientId, code, verifier)),
    );
    const successes = answers.filter(({ status }) => status === 200);
    expect(successes.length).toBeLessThanOrEqual(1);
    for (const answer of answers) if (answer.status !== 200) expect(refused(answer)).toEqual(INVALID_GRANT);
    for (const { body } of successes) expect(await isLive(harness, body.access_token)).toBe(false);
    expect(await grantsOf(person)).toBe(0);
  });

  test('a code with a wrong verifier, redirect URI or code is refused, and stays valid for its client', async () => {
    const { clientId, code, verifier } = await codes.newCode();
    const attempts: Params[] = [
      { code_verifier: createPkce().verifier },
      { code_verifier: undefined },
      // The same address in another spelling.
      { code_verifier: verifier.toUpperCase() },
      { code_verifier: 'short' },
      { redirect_uri: `${REDIRECT_URI}/` },
      { redirect_uri: undefined },
      { code: `fpc_${'a'.repeat(48)}` },
      { code: undefined, 'code[$ne]': 'x' },
    ];
    for (const params of attempts) {
      const answer = await oauth.exchange(clientId, code, verifier, params);
      expect([params, answer.status, answer.body.access_token]).toEqual([params, 400, undefined]);
    }
    expect((await oauth.exchange(clientId, code, verifier)).status).toBe(200);
  });

  test('a code is refused for another client and another origin, and is no access or refresh token', async () => {
    const issued = await codes.newCode();
    expect(refused(await oauth.exchange(clientId, issued.code, issued.verifier))).toEqual(INVALID_GRANT);
    expect(await isLive(harness, issued.code)).toBe(false);
    expect(refused(await oauth.refresh(issued.clientId, issued.code))).toEqual(INVALID_GRANT);
    const resource = 'https://elsewhere.example/mcp';
    const answer = await oauth.exchange(issued.clientId, issued.code, issued.verifier, { resource });
    expect(refused(answer)).toEqual([400, 'invalid_target']);
  });

  test('a stolen code that is injected into another request fails because of its verifier', async () => {
    const stolen = await oauth.newCode(targetUser, { client_id: clientId });
    const injected = await oauth.newCode(await createOauthUser(harness), { client_id: clientId });
    expect(refused(await oauth.exchange(clientId, stolen.code, injected.verifier))).toEqual(INVALID_GRANT);
  });
});

describe('a refresh token', () => {
  test('a refresh token works again within ten seconds, because its first response may be lost', async () => {
    const { clientId, accessToken, refreshToken } = await codes.connect();
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
    const connected = await codes.connect();
    expect((await oauth.refresh(connected.clientId, connected.refreshToken)).status).toBe(200);
    expect(refused(await oauth.refresh(clientId, connected.refreshToken))).toEqual(INVALID_GRANT);
    expect((await oauth.refresh(connected.clientId, connected.refreshToken)).status).toBe(200);
  });

  test('a third use of a refresh token within ten seconds revokes the grant', async () => {
    const { clientId, accessToken, refreshToken } = await codes.connect();
    for (const expected of [200, 200, 400]) {
      expect((await oauth.refresh(clientId, refreshToken)).status).toBe(expected);
    }
    expect(await isLive(harness, accessToken)).toBe(false);
  });

  test('of two tokens issued for one, using the first retires the second, which may be stolen', async () => {
    const { clientId, refreshToken } = await codes.connect();
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
    const { clientId, refreshToken } = await codes.connect();
    const one = await oauth.refresh(clientId, refreshToken);
    const other = await oauth.refresh(clientId, refreshToken);
    const next = await oauth.refresh(clientId, one.body.refresh_token);
    expect([one.status, other.status, next.status]).toEqual([200, 200, 200]);
    expect(refused(await oauth.refresh(clientId, other.body.refresh_token))).toEqual(INVALID_GRANT);
    expect(refused(await oauth.refresh(clientId, next.body.refresh_token))).toEqual(INVALID_GRANT);
    expect(await isLive(harness, next.body.access_token)).toBe(false);
  });

  test('two tokens issued for one never give two chains, in each of five races', () =>
    raceForOneChain(harness, codes, 5));

  test('a repetition after its response was used gives a token that ends the grant', async () => {
    const { clientId, refreshToken } = await codes.connect();
    const answer = await oauth.refresh(clientId, refreshToken);
    const next = await oauth.refresh(clientId, answer.body.refresh_token);
    const late = await oauth.refresh(clientId, refreshToken);
    expect([answer.status, next.status, late.status]).toEqual([200, 200, 200]);
    expect(refused(await oauth.refresh(clientId, late.body.refresh_token))).toEqual(INVALID_GRANT);
    for (const { body } of [answer, next, late]) expect(await isLive(harness, body.access_token)).toBe(false);
  });

  test('two concurrent uses of a refresh token both succeed in five races, and the app goes on', () =>
    raceForOneRefresh(harness, codes, 5));

  test('a second use after ten seconds revokes the grant, because the token may be stolen', async () => {
    const { clientId, accessToken, refreshToken } = await codes.connect();
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
    const { clientId, refreshToken } = await codes.connect(person);
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

  test('a refresh token is refused for another and an unknown client, and is not an access token', async () => {
    const { refreshToken } = await codes.connect();
    expect(refused(await oauth.refresh(clientId, refreshToken))).toEqual(INVALID_GRANT);
    expect(refused(await oauth.refresh('nobody', refreshToken))).toEqual([401, 'invalid_client']);
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

  test('a request with an unregistered redirect URI is not redirected', async () => {
    // src/domain/oauth-client.test.ts has more of them.
    for (const redirect_uri of ['https://evil.example/callback', 'javascript:alert(1)', '']) {
      const page = await request({ redirect_uri, state: 'kept' });
      expect([redirect_uri, page.status, page.location]).toEqual([redirect_uri, 400, undefined]);
      expect(page.html).not.toContain('evil.example');
      expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    }
  });

  test.each([
    ['[::1]', 'web'],
    ['localhost', 'native'],
  ])('a request may name any port of %s (%s client)', async (host, application_type) => {
    const redirect_uris = [`http://${host}:7777/callback`];
    const client_id = await oauth.newClient({ application_type, redirect_uris });
    for (const port of ['', ':9999'])
      expect((await request({ client_id, redirect_uri: `http://${host}${port}/callback` })).status).toBe(303);
  });

  test('a request may not change the port of an https redirect URI', async () => {
    const redirect_uri = 'https://localhost:7777/callback';
    const client_id = await oauth.newClient({ redirect_uris: [redirect_uri] });
    expect((await request({ client_id, redirect_uri })).status).toBe(303);
    const page = await request({ client_id, redirect_uri: redirect_uri.replace('7777', '9999') });
    expect([page.status, page.location]).toEqual([400, undefined]);
  });

  test('a request may change only the port of a loopback redirect URI (RFC 8252)', async () => {
    const native = await oauth.newClient();
    const sentTo = (redirect_uri: string) => request({ client_id: native, redirect_uri });
    expect((await sentTo('http://127.0.0.1:9999/callback')).status).toBe(303);
    for (const other of ['http://127.0.0.1:9999/callback/', 'https://127.0.0.1:9999/callback']) {
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

  test('a request of an unknown client is not redirected', async () => {
    for (const client_id of [undefined, '', 'nobody', 'a'.repeat(5_000), '__proto__', '{"$ne":1}']) {
      const page = await request({ client_id });
      expect([client_id, page.status, page.location]).toEqual([client_id, 400, undefined]);
    }
  });

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
  test('a registration with a known scheme is accepted, and its client receives tokens', async () => {
    const redirect_uris = ['cursor', 'vscode', 'vscode-insiders', 'windsurf'].map(
      (scheme) => `${scheme}://publisher.extension/callback`,
    );
    const { status, body } = await oauth.register({ redirect_uris });
    expect([status, body.redirect_uris, body.application_type]).toEqual([201, redirect_uris, 'native']);
    const [redirect_uri] = redirect_uris;
    const issued = await oauth.newCode(targetUser, { client_id: body.client_id, redirect_uri });
    const tokens = await oauth.exchange(body.client_id, issued.code, issued.verifier, { redirect_uri });
    expect(tokens.status).toBe(200);
  });

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
    // src/domain/oauth-client.test.ts has more of them.
    ['with plain http', { redirect_uris: ['http://client.example/callback'] }, 'invalid_redirect_uri'],
    [
      'of a native client with an unknown scheme',
      { redirect_uris: ['myapp:/callback'], application_type: 'native' },
      'invalid_redirect_uri',
    ],
    ['without a redirect URI', { redirect_uris: [] }, 'invalid_redirect_uri'],
    ['with an empty name', { client_name: ' ' }, 'invalid_client_metadata'],
    ['with no text as its method', { token_endpoint_auth_method: 1 }, 'invalid_client_metadata'],
    [
      'for the implicit grant',
      { grant_types: ['implicit'], response_types: ['token'] },
      'invalid_client_metadata',
    ],
    ['for the password grant', { grant_types: ['password'] }, 'invalid_client_metadata'],
  ])('a registration %s is refused', async (_what, metadata, error) => {
    expect(refused(await oauth.register(metadata))).toEqual([400, error]);
  });

  test.each<[string, Record<string, unknown>]>([
    [
      'grants',
      {
        grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
      },
    ],
    [
      'response types',
      { response_types: ['code', 'token'], grant_types: ['authorization_code', 'refresh_token', 'implicit'] },
    ],
    ['a secret', { token_endpoint_auth_method: 'client_secret_post' }],
  ])(
    'a registration that also wishes other %s gets what is offered, and its client works',
    async (_what, metadata) => {
      const { status, body } = await oauth.register(metadata);
      expect([status, body]).toEqual([
        201,
        expect.objectContaining({
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
          token_endpoint_auth_method: 'none',
        }),
      ]);
      expect(body).not.toHaveProperty('client_secret');
      const issued = await oauth.newCode(targetUser, { client_id: body.client_id });
      expect((await oauth.exchange(body.client_id, issued.code, issued.verifier)).status).toBe(200);
    },
  );

  test('a registration whose body is no object is refused', async () => {
    const headers = { ...(await fromGateway()), 'content-type': 'application/json' };
    for (const body of ['not json', '[]', 'null', '"text"', '1', '{"redirect_uris":', '']) {
      const url = `${harness.url}${OAUTH_PATHS.register}`;
      const { status } = await fetch(url, { method: 'POST', headers, body });
      expect([body, status]).toEqual([body, 400]);
    }
  });

  test('a registration with a strange value of any field returns 201 or 400', async () => {
    for (const [index, field] of METADATA_FIELDS.entries()) {
      const value = STRANGE_VALUES[index % STRANGE_VALUES.length];
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

  test('a form of more than 16 KiB is rejected with 413', async () => {
    for (const path of [OAUTH_PATHS.token, OAUTH_PATHS.revoke]) {
      const post = async (body: string) =>
        fetch(`${harness.url}${path}`, {
          method: 'POST',
          headers: { ...(await fromGateway()), 'content-type': 'application/x-www-form-urlencoded' },
          body,
        });
      expect((await post('a&'.repeat(8 * 1024))).status).toBe(400);
      expect((await post('a&'.repeat(8 * 1024 + 1))).status).toBe(413);
    }
  });

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

  test('a consent form without its CSRF token grants nothing', async () => {
    const person = await createOauthUser(harness);
    const { browser, consent } = await open(person);
    for (const csrf of ['', 'A'.repeat(43)]) {
      const answer = await browser.submit(consent, 'allow', { csrf });
      expect([answer.status, answer.location]).toEqual([403, undefined]);
    }
    expect(await grantsOf(person)).toBe(0);
  });

  test('a form of another site is refused, even with its CSRF token', async () => {
    const { browser, consent } = await open();
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example' },
    ] as Record<string, string>[])
      expect([headers, (await browser.submit(consent, 'allow', {}, headers)).status]).toEqual([headers, 403]);
    const own = await browser.submit(consent, 'allow', {}, { 'sec-fetch-site': 'same-origin' });
    expect(own.status).toBe(303);
  });

  test('a form of one browser is refused in another', async () => {
    const person = await createOauthUser(harness);
    const { consent } = await open(person);
    const uid = formOf(consent.html).action.split('?')[0]?.split('/').at(-1);
    // Without a cookie, and with a forged one.
    for (const headers of [{}, { cookie: `fitness_oauth_interaction=${uid}` }]) {
      const stranger = await oauth.browse().submit(consent, 'allow', {}, headers);
      expect([stranger.status, stranger.location]).toEqual([400, undefined]);
    }
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

  test('a form of an unknown interaction is refused', async () => {
    for (const uid of ['%', '..%2f..', 'x'.repeat(300), '__proto__'])
      for (const path of [OAUTH_PATHS.interaction, OAUTH_PATHS.authorize]) {
        const { status } = await oauth.browse().get(`${path}/${uid}`);
        expect([path, uid, status >= 400 && status < 500]).toEqual([path, uid, true]);
      }
  });
});
