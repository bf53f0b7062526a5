/** What an attacker may try at the authorization server, and gets: never a grant, never a 500. */
import { randomBytes } from 'node:crypto';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { OAUTH_PATHS } from '@fitness/shared/oauth.ts';
import { formOf } from '@fitness/shared/testing/browser.ts';
import {
  createPkce,
  type OauthClient,
  type Params,
  REDIRECT_URI,
} from '@fitness/shared/testing/oauth-client.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createAdapterFactory, toRecord } from '../src/oauth/adapter.ts';
import { createOauthStore } from '../src/store/oauth.ts';
import { createTokenStore } from '../src/store/tokens.ts';
import { fromGateway, oauthOf, type Resident, resident } from './oauth-support.ts';
import { isLive, startWorld, type World } from './support.ts';

let world: World;
let oauth: OauthClient;
/** Two people and a client for attacks that leave them as they are. */
let victim: Resident;
let clientId: string;

beforeAll(async () => {
  world = await startWorld();
  oauth = oauthOf(world);
  victim = await resident(world);
  clientId = await oauth.newClient();
});
afterAll(() => world.close());

const grantsOf = (person: Resident): Promise<number> =>
  world.database.collection('oauth_records').countDocuments({
    user_id: person.id,
    _id: /^Grant:/ as never,
  });

const refused = ({ status, body }: { status: number; body: { error?: string } }) => [status, body.error];
const INVALID_GRANT = [400, 'invalid_grant'];

describe('a code', () => {
  test('that is used again ends everything that came of it', async () => {
    const { clientId, code, verifier } = await oauth.newCode(victim);
    const { body } = await oauth.exchange(clientId, code, verifier);
    expect(await isLive(world, body.access_token)).toBe(true);
    expect(refused(await oauth.exchange(clientId, code, verifier))).toEqual(INVALID_GRANT);
    expect(await isLive(world, body.access_token)).toBe(false);
    expect(refused(await oauth.refresh(clientId, body.refresh_token))).toEqual(INVALID_GRANT);
  });

  test('that twenty use at once gives one of them tokens at most, and leaves nothing alive', async () => {
    const person = await resident(world);
    const { clientId, code, verifier } = await oauth.newCode(person);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => oauth.exchange(clientId, code, verifier)),
    );
    const won = answers.filter(({ status }) => status === 200);
    expect(won.length).toBeLessThanOrEqual(1);
    for (const answer of answers) if (answer.status !== 200) expect(refused(answer)).toEqual(INVALID_GRANT);
    for (const { body } of won) expect(await isLive(world, body.access_token)).toBe(false);
    expect(await grantsOf(person)).toBe(0);
  });

  test.each<[string, (given: { verifier: string }) => Params]>([
    ['with another verifier', () => ({ code_verifier: createPkce().verifier })],
    ['without a verifier', () => ({ code_verifier: undefined })],
    [
      'with the challenge in place of the verifier',
      ({ verifier }) => ({ code_verifier: verifier.toUpperCase() }),
    ],
    ['with a verifier that is too short', () => ({ code_verifier: 'short' })],
    ['for another address of return', () => ({ redirect_uri: `${REDIRECT_URI}/` })],
    ['for no address of return', () => ({ redirect_uri: undefined })],
    ['as one that was never issued', () => ({ code: `fpc_${'a'.repeat(48)}` })],
    ['as an object', () => ({ code: undefined, 'code[$ne]': 'x' })],
  ])('%s is worth nothing, and still good for its owner', async (_what, spoiled) => {
    const { clientId, code, verifier } = await oauth.newCode(victim);
    const answer = await oauth.exchange(clientId, code, verifier, spoiled({ verifier }));
    expect(answer.status).toBe(400);
    expect(answer.body.access_token).toBeUndefined();
    expect((await oauth.exchange(clientId, code, verifier)).status).toBe(200);
  });

  test('buys nothing for a resource that is not ours', async () => {
    const { clientId, code, verifier } = await oauth.newCode(victim);
    const resource = 'https://elsewhere.example/mcp';
    expect(refused(await oauth.exchange(clientId, code, verifier, { resource }))).toEqual([
      400,
      'invalid_target',
    ]);
  });

  test('of one client is worth nothing to another', async () => {
    const { code, verifier } = await oauth.newCode(victim);
    expect(refused(await oauth.exchange(clientId, code, verifier))).toEqual(INVALID_GRANT);
  });

  test("of the victim, injected into the attacker's own client, fails on its verifier", async () => {
    const stolen = await oauth.newCode(victim, { client_id: clientId });
    const own = await oauth.newCode(await resident(world), { client_id: clientId });
    expect(refused(await oauth.exchange(clientId, stolen.code, own.verifier))).toEqual(INVALID_GRANT);
  });

  test('is no token, and no refresh token', async () => {
    const { clientId, code } = await oauth.newCode(victim);
    expect(await isLive(world, code)).toBe(false);
    expect(refused(await oauth.refresh(clientId, code))).toEqual(INVALID_GRANT);
  });
});

describe('a refresh token', () => {
  test('that is used again ends the grant: either of the two may be the thief', async () => {
    const { clientId, accessToken, refreshToken } = await oauth.connect(victim);
    const next = await oauth.refresh(clientId, refreshToken);
    expect(next.status).toBe(200);
    expect(refused(await oauth.refresh(clientId, refreshToken))).toEqual(INVALID_GRANT);
    expect(await isLive(world, accessToken)).toBe(false);
    expect(await isLive(world, next.body.access_token)).toBe(false);
    expect(refused(await oauth.refresh(clientId, next.body.refresh_token))).toEqual(INVALID_GRANT);
  });

  test('that twenty use at once gives one of them tokens at most, and leaves nothing alive', async () => {
    const person = await resident(world);
    const { clientId, refreshToken } = await oauth.connect(person);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => oauth.refresh(clientId, refreshToken)),
    );
    const won = answers.filter(({ status }) => status === 200);
    expect(won.length).toBeLessThanOrEqual(1);
    for (const answer of answers) if (answer.status !== 200) expect(refused(answer)).toEqual(INVALID_GRANT);
    for (const { body } of won) {
      expect(await isLive(world, body.access_token)).toBe(false);
      expect(refused(await oauth.refresh(clientId, body.refresh_token))).toEqual(INVALID_GRANT);
    }
    expect(await grantsOf(person)).toBe(0);
  });

  test('of one client is worth nothing to another, and none is an access token', async () => {
    const { refreshToken } = await oauth.connect(victim);
    expect(refused(await oauth.refresh(clientId, refreshToken))).toEqual(INVALID_GRANT);
    expect(await isLive(world, refreshToken)).toBe(false);
  });

  test.each([
    ['a password', { grant_type: 'password', username: 'x', password: 'y' }],
    ['the client alone', { grant_type: 'client_credentials' }],
    ['nothing', {}],
    ['an implicit grant', { grant_type: 'implicit' }],
    ['two grants', { grant_type: 'authorization_code refresh_token' }],
    ['a device', { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: 'x' }],
  ])('is not given for %s', async (_what, params) => {
    const answer = await oauth.token({ client_id: clientId, ...params });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatch(/^(unsupported_grant_type|invalid_request)$/);
  });

  test('is not given to an unknown client', async () => {
    const answer = await oauth.token({
      grant_type: 'refresh_token',
      client_id: 'nobody',
      refresh_token: 'x',
    });
    expect(refused(answer)).toEqual([401, 'invalid_client']);
  });
});

describe('of two who use a secret that both have found unused', () => {
  test.each(['AuthorizationCode', 'RefreshToken'])('%s: the second ends the grant', async (kind) => {
    const person = await resident(world);
    const grantId = randomBytes(8).toString('hex');
    const grant = { accountId: String(person.id), grantId };
    const store = createOauthStore(world.database);
    const epoch = (await world.database.collection('users').findOne({ _id: person.id as never }))
      ?.credential_epoch as number;
    const later = new Date(world.clock.now().getTime() + 60_000);
    const transact = <T>(work: (session: ClientSession) => Promise<T>): Promise<T> =>
      inTransaction(world.database, work);
    await transact((session) =>
      store.insertGrant(session, toRecord('Grant', grantId, { accountId: String(person.id) }, later), epoch),
    );
    const adapter = createAdapterFactory({
      oauth: store,
      tokens: createTokenStore(world.database),
      clock: world.clock,
      transact,
      issuer: 'http://api.test',
      grantIsGone: () => new Error('gone'),
      answeredAlready: () => new Error('answered'),
    })(kind);
    await adapter.upsert('secret', grant, 60);
    const found = await Promise.all([adapter.find('secret'), adapter.find('secret')]);
    expect(found.map((payload) => payload?.consumed)).toEqual([undefined, undefined]);
    await adapter.consume('secret');
    expect(await grantsOf(person)).toBe(1);
    await expect(adapter.consume('secret')).rejects.toThrow('gone');
    expect(await grantsOf(person)).toBe(0);
    expect(await adapter.find('secret')).toBeUndefined();
  });
});

describe('a request', () => {
  const ask = async (params: Params) =>
    oauth
      .browse()
      .get(oauth.authorizeUrl({ client_id: clientId, code_challenge: createPkce().challenge, ...params }));

  test.each<[string, Params]>([
    ['without PKCE', { code_challenge: undefined, code_challenge_method: undefined }],
    ['with a plain challenge', { code_challenge_method: 'plain' }],
    ['with a challenge of no method', { code_challenge_method: undefined }],
    ['with a method of no challenge', { code_challenge: undefined }],
    ['with a challenge that is none', { code_challenge: 'short' }],
    ['for a token at once', { response_type: 'token' }],
    ['for an ID token', { response_type: 'code id_token', nonce: 'n' }],
    ['for a posted answer', { response_mode: 'form_post' }],
    ['for an answer in the fragment', { response_mode: 'fragment' }],
    ['for a resource that is not ours', { resource: 'https://elsewhere.example/mcp' }],
    ['for a resource that is none', { resource: 'not a url' }],
    ['for an answer without any page', { prompt: 'none' }],
    ['with parameters in a JWT', { request: 'eyJhbGciOiJub25lIn0.e30.' }],
    ['with parameters elsewhere', { request_uri: 'https://elsewhere.example/request' }],
    ['with strange characters in its scope', { scope: 'posts.view "<x>' }],
  ])('%s goes back to its client with an error', async (_what, params) => {
    const page = await ask(params);
    expect(page.status).toBe(303);
    expect(page.location?.href.startsWith(REDIRECT_URI)).toBe(true);
    // Of an answer that would come in the fragment, the error does too.
    const { search, hash } = page.location ?? new URL('x:y');
    const said = new URLSearchParams(search === '' ? hash.slice(1) : search);
    expect(said.get('error')).toMatch(/^[a-z_]+$/);
    expect(said.get('error')).not.toBe('server_error');
    expect([said.get('iss'), said.get('code'), said.get('access_token')]).toEqual([
      'http://api.test',
      null,
      null,
    ]);
  });

  test.each([
    'http://127.0.0.1:7777/callback/',
    'http://127.0.0.1:7777/callback?x=1',
    'http://127.0.0.1:7778/callback',
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
  ])('to the address %j, which was not registered, goes nowhere', async (redirect_uri) => {
    const page = await ask({ redirect_uri, state: 'kept' });
    expect([page.status, page.location]).toEqual([400, undefined]);
    expect(page.html).not.toContain('evil');
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  });

  test('of a program on its own machine may name any port of it (RFC 8252), and nothing else', async () => {
    const native = await oauth.newClient({ application_type: 'native' });
    const sentTo = (redirect_uri: string) => ask({ client_id: native, redirect_uri });
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
    // The code is then worth something for that very port only.
    const redirect_uri = 'http://127.0.0.1:9999/callback';
    const given = await oauth.newCode(victim, { client_id: native, redirect_uri });
    const elsewhere = { redirect_uri: 'http://127.0.0.1:9998/callback' };
    expect((await oauth.exchange(native, given.code, given.verifier, elsewhere)).status).toBe(400);
    expect((await oauth.exchange(native, given.code, given.verifier, { redirect_uri })).status).toBe(200);
  });

  test.each([undefined, '', 'nobody', 'a'.repeat(5_000), '__proto__', '{"$ne":1}'])(
    'of the client %j goes nowhere',
    async (client_id) => {
      const page = await ask({ client_id });
      expect([page.status, page.location]).toEqual([400, undefined]);
    },
  );

  test('that says something twice goes nowhere it was not registered for', async () => {
    const url = oauth.authorizeUrl({ client_id: clientId, code_challenge: createPkce().challenge });
    const page = await oauth.browse().get(`${url}&redirect_uri=https://evil.example/`);
    expect(page.location?.host ?? '').not.toBe('evil.example');
  });

  test('in the name of another host is answered in ours', async () => {
    const url = oauth.authorizeUrl({ client_id: clientId, code_challenge: createPkce().challenge });
    const headers = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      forwarded: 'host=evil.example',
    };
    const page = await oauth.browse().get(url, headers);
    expect(page.location?.host).not.toBe('evil.example');
    expect(page.headers.getSetCookie().join()).not.toContain('evil');
  });
});

describe('a registration', () => {
  test.each<[string, Record<string, unknown>, string]>([
    ['of plain http', { redirect_uris: ['http://client.example/callback'] }, 'invalid_redirect_uri'],
    ['of a script', { redirect_uris: ['javascript:alert(1)//https://x'] }, 'invalid_redirect_uri'],
    ['of data', { redirect_uris: ['data:text/html,x'] }, 'invalid_redirect_uri'],
    ['of an own scheme', { redirect_uris: ['com.example.app:/callback'] }, 'invalid_redirect_uri'],
    [
      'of an own scheme, as a native client',
      { redirect_uris: ['x://y'], application_type: 'native' },
      'invalid_redirect_uri',
    ],
    ['with a fragment', { redirect_uris: ['https://client.example/#x'] }, 'invalid_redirect_uri'],
    ['with a user', { redirect_uris: ['https://127.0.0.1@client.example/'] }, 'invalid_redirect_uri'],
    ['with an empty user', { redirect_uris: ['https://@client.example/'] }, 'invalid_redirect_uri'],
    ['without its slashes', { redirect_uris: ['https:client.example/'] }, 'invalid_redirect_uri'],
    ['of any host', { redirect_uris: ['https://*/'] }, 'invalid_redirect_uri'],
    ['of any host below', { redirect_uris: ['https://*.client.example/'] }, 'invalid_redirect_uri'],
    [
      'with a host that goes on in the policy of the page',
      { redirect_uris: ['https://client.example;frame-ancestors/'] },
      'invalid_redirect_uri',
    ],
    [
      'with a host that ends the policy of the page',
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
      'of a very long address',
      { redirect_uris: [`https://client.example/${'a'.repeat(2_000)}`] },
      'invalid_redirect_uri',
    ],
    ['of nowhere', { redirect_uris: [] }, 'invalid_redirect_uri'],
    [
      'of eleven addresses',
      { redirect_uris: Array.from({ length: 11 }, (_, i) => `https://c.example/${i}`) },
      'invalid_redirect_uri',
    ],
    ['of a text for a list', { redirect_uris: 'https://client.example/' }, 'invalid_redirect_uri'],
    ['of numbers', { redirect_uris: [1] }, 'invalid_redirect_uri'],
    ['with an endless name', { client_name: 'x'.repeat(101) }, 'invalid_client_metadata'],
    ['with an empty name', { client_name: ' ' }, 'invalid_client_metadata'],
    ['with a name that turns around', { client_name: 'Bank\u202egnp.exe' }, 'invalid_client_metadata'],
    ['with a name that is no text', { client_name: { en: 'x' } }, 'invalid_client_metadata'],
    ['with a secret', { token_endpoint_auth_method: 'client_secret_basic' }, 'invalid_client_metadata'],
    ['with a key', { token_endpoint_auth_method: 'private_key_jwt' }, 'invalid_client_metadata'],
    [
      'for the implicit grant',
      { grant_types: ['implicit'], response_types: ['token'] },
      'invalid_client_metadata',
    ],
    ['for a password', { grant_types: ['password'] }, 'invalid_client_metadata'],
  ])('%s is refused', async (_what, metadata, error) => {
    expect(refused(await oauth.register(metadata))).toEqual([400, error]);
  });

  test.each(['not json', '[]', 'null', '"text"', '1', '{"redirect_uris":', ''])(
    'of the body %j is refused',
    async (body) => {
      const headers = { ...(await fromGateway()), 'content-type': 'application/json' };
      const { status } = await fetch(`${world.url}${OAUTH_PATHS.register}`, {
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

  test.each(FIELDS)('with whatever %s is answered 201 or 400', async (field) => {
    for (const value of STRANGE) {
      const { status } = await oauth.register(Object.fromEntries([[field, value]]));
      expect([field, value, [201, 400].includes(status)]).toEqual([field, value, true]);
    }
  });

  test.each<[string, unknown]>([
    [
      'of thousands of addresses',
      { redirect_uris: Array.from({ length: 1_500 }, (_, i) => `https://c.example/${i}`) },
    ],
    ['of more than it reads', { redirect_uris: ['https://c.example/'], x: 'x'.repeat(100_000) }],
    ['of a MiB', { redirect_uris: ['https://c.example/'], x: 'x'.repeat(1_000_000) }],
    ['that is nested without end', { redirect_uris: JSON.parse(`${'['.repeat(1_000)}${']'.repeat(1_000)}`) }],
  ])('%s is refused', async (_what, metadata) => {
    expect((await oauth.register(metadata as Record<string, unknown>)).status).toBe(400);
  });

  test('keeps nothing that would make us ask other hosts, or trust the client more', async () => {
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
  const open = async (person: Resident = victim) => {
    const browser = oauth.browse();
    const params = { client_id: clientId, code_challenge: createPkce().challenge };
    return { browser, consent: await oauth.signIn(browser, params, person) };
  };

  test.each<[string, Record<string, string>]>([
    ['no token of the form', { csrf: '' }],
    ['a wrong token of the form', { csrf: 'A'.repeat(43) }],
  ])('of consent with %s grants nothing', async (_what, fields) => {
    const person = await resident(world);
    const { browser, consent } = await open(person);
    const answer = await browser.submit(consent, 'allow', fields);
    expect([answer.status, answer.location]).toEqual([403, undefined]);
    expect(await grantsOf(person)).toBe(0);
  });

  test.each<[string, Record<string, string>]>([
    ['of another site', { 'sec-fetch-site': 'cross-site' }],
    ['of a sister site', { 'sec-fetch-site': 'same-site' }],
    ['of another origin', { origin: 'https://evil.example' }],
  ])('%s is refused, its token or not', async (_what, headers) => {
    const { browser, consent } = await open();
    expect((await browser.submit(consent, 'allow', {}, headers)).status).toBe(403);
    expect((await browser.submit(consent, 'allow', {}, { 'sec-fetch-site': 'same-origin' })).status).toBe(
      303,
    );
  });

  test('of one browser is worth nothing in another: whoever sends it must have signed in there', async () => {
    const person = await resident(world);
    const { consent } = await open(person);
    const stranger = await oauth.browse().submit(consent, 'allow');
    expect([stranger.status, stranger.location]).toEqual([400, undefined]);
    const { browser } = await open();
    const mixed = await browser.submit(consent, 'allow');
    expect([mixed.status, mixed.location]).toEqual([400, undefined]);
    expect(await grantsOf(person)).toBe(0);
  });

  test('of one request, sent with the cookie of another, answers neither', async () => {
    const [person, other] = [await resident(world), await resident(world)];
    const [own, foreign] = [await open(person), await open(other)];
    // As a browser would send it to the page that it belongs to.
    const { action } = formOf(foreign.consent.html);
    const cookie = [...foreign.browser.cookies]
      .filter(([, { path }]) => action === path || action.startsWith(`${path}/`))
      .map(([key, { value }]) => `${key.split(' ')[0]}=${value}`)
      .join('; ');
    const answer = await own.browser.submit(own.consent, 'allow', {}, { cookie });
    expect([answer.status, answer.location]).toEqual([400, undefined]);
    expect([await grantsOf(person), await grantsOf(other)]).toEqual([0, 0]);
  });

  test('with a forged cookie is worth nothing', async () => {
    const { consent } = await open();
    const { action } = formOf(consent.html);
    const forger = oauth.browse();
    const uid = action.split('/').at(-1) ?? '';
    const answer = await forger.submit(consent, 'allow', {}, { cookie: `fitness_oauth_interaction=${uid}` });
    expect(answer.status).toBe(400);
  });

  test('cannot consent before the log-in, nor sign in twice', async () => {
    const browser = oauth.browse();
    const params = { client_id: clientId, code_challenge: createPkce().challenge };
    const login = await browser.follow(await browser.get(oauth.authorizeUrl(params)));
    expect((await browser.submit(login, 'allow')).status).toBe(400);
    expect((await browser.submit(login, 'nonsense')).status).toBe(400);
    const consent = await browser.follow(
      await browser.submit(login, 'login', { login: victim.login, password: victim.password }),
    );
    expect(
      (await browser.submit(consent, 'login', { login: victim.login, password: victim.password })).status,
    ).toBe(400);
  });

  test('is answered once', async () => {
    const person = await resident(world);
    const { browser, consent } = await open(person);
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () => browser.follow(await browser.submit(consent, 'allow'))),
    );
    const codes = answers.flatMap(({ location }) => location?.searchParams.get('code') ?? []);
    expect(codes.length).toBe(1);
    expect(await grantsOf(person)).toBe(1);
    for (const { status } of answers) expect(status).toBeLessThan(500);
  });

  test('that was answered gives one code, of twenty who go on from it at once', async () => {
    const person = await resident(world);
    const { browser, consent } = await open(person);
    const { location } = await browser.submit(consent, 'allow');
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => browser.get(location?.pathname ?? '')),
    );
    const codes = answers.flatMap((page) => page.location?.searchParams.get('code') ?? []);
    expect(codes).toHaveLength(1);
    for (const { status } of answers) expect([303, 400]).toContain(status);
    const issued = await world.database
      .collection('oauth_records')
      .countDocuments({ user_id: person.id, _id: /^AuthorizationCode:/ as never });
    expect(issued).toBe(1);
  });

  test.each(['%', '..%2f..', 'x'.repeat(300), '__proto__'])("at the path %s is nobody's", async (uid) => {
    const page = await oauth.browse().get(`${OAUTH_PATHS.interaction}/${uid}`);
    expect(page.status).toBeGreaterThanOrEqual(400);
    expect(page.status).toBeLessThan(500);
    const resumed = await oauth.browse().get(`${OAUTH_PATHS.authorize}/${uid}`);
    expect(resumed.status).toBeGreaterThanOrEqual(400);
    expect(resumed.status).toBeLessThan(500);
  });
});
