/** One suite for all stores, then one for each store. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type Answer, pause, SLOW_MS, startTestSandbox, type TestSandbox, timed } from './harness.ts';

let sandbox: TestSandbox;
let bearer = '';
beforeAll(async () => {
  sandbox = await startTestSandbox();
  bearer = (await askGoogleToken(assertion())).json.access_token;
});
afterAll(() => sandbox.close());
beforeEach(() => sandbox.call('DELETE', '/_sandbox'));

const PRODUCT = 'premium_plus';
const PACKAGE = 'ir.example.app';

interface Store {
  name: string;
  good: () => Record<string, string>;
  refused: Record<string, string>;
  validate(
    token: string,
    sku: string,
    headers: Record<string, string>,
    signal?: AbortSignal,
  ): Promise<Answer>;
  consume(token: string, headers: Record<string, string>): Promise<Answer>;
  unconsumed: number;
  consumed: number;
  canceled: object;
  pending: { status: number; body: object };
  unknown: { status: number; body: object };
  /** A token of another product. */
  other: { status: number; body: object };
}

const googleProduct = `/google-play/androidpublisher/v3/applications/${PACKAGE}/purchases/products`;
const myketProduct = `/myket/api/partners/applications/${PACKAGE}/purchases/products`;
const bazaar = '/cafebazaar/devapi/v2/api';

const cafebazaarNotFound = {
  error: 'not_found',
  error_description: 'The requested purchase is not found!',
};
const myketNotFound = {
  code: 404,
  messageCode: 'PurchaseNotFound',
  translatedMessage: expect.any(String),
};

const within = (headers: Record<string, string>, signal?: AbortSignal) =>
  signal ? { headers, signal } : { headers };

const stores: Store[] = [
  {
    name: 'Cafe Bazaar',
    good: () => ({ 'CAFEBAZAAR-PISHKHAN-API-SECRET': 'secret' }),
    refused: { 'CAFEBAZAAR-PISHKHAN-API-SECRET': 'invalid-secret' },
    validate: (token, sku, headers, signal) =>
      sandbox.call(
        'GET',
        `${bazaar}/validate/${PACKAGE}/inapp/${sku}/purchases/${encodeURIComponent(token)}/`,
        undefined,
        within(headers, signal),
      ),
    consume: (token, headers) =>
      sandbox.call('POST', `${bazaar}/consume/${PACKAGE}/purchases/`, { token }, { headers }),
    unconsumed: 1,
    consumed: 0,
    canceled: { purchaseState: 1 },
    pending: { status: 404, body: cafebazaarNotFound },
    unknown: { status: 404, body: cafebazaarNotFound },
    other: { status: 404, body: cafebazaarNotFound },
  },
  {
    name: 'Myket',
    good: () => ({ 'X-Access-Token': 'token' }),
    refused: { 'X-Access-Token': 'invalid-token' },
    validate: (tokenId, sku, headers, signal) =>
      sandbox.call('POST', `${myketProduct}/${sku}/verify`, { tokenId }, within(headers, signal)),
    consume: (token, headers) =>
      sandbox.call(
        'PUT',
        `${myketProduct}/${PRODUCT}/tokens/${encodeURIComponent(token)}/consume`,
        undefined,
        { headers },
      ),
    unconsumed: 0,
    consumed: 1,
    canceled: { purchaseState: 1 },
    pending: { status: 404, body: myketNotFound },
    unknown: { status: 404, body: myketNotFound },
    other: { status: 404, body: myketNotFound },
  },
  {
    name: 'Google Play',
    good: () => ({ Authorization: `Bearer ${bearer}` }),
    refused: { Authorization: 'Bearer invalid' },
    validate: (token, sku, headers, signal) =>
      sandbox.call(
        'GET',
        `${googleProduct}/${sku}/tokens/${encodeURIComponent(token)}`,
        undefined,
        within(headers, signal),
      ),
    consume: (token, headers) =>
      sandbox.call(
        'POST',
        `${googleProduct}/${PRODUCT}/tokens/${encodeURIComponent(token)}:consume`,
        undefined,
        {
          headers,
        },
      ),
    unconsumed: 0,
    consumed: 1,
    canceled: { purchaseState: 1 },
    pending: { status: 200, body: { purchaseState: 2 } },
    unknown: {
      status: 400,
      body: {
        error: {
          code: 400,
          message: 'Invalid Value',
          errors: [{ message: 'Invalid Value', domain: 'global', reason: 'invalid' }],
          status: 'INVALID_ARGUMENT',
        },
      },
    },
    other: {
      status: 400,
      body: {
        error: {
          code: 400,
          message: 'The purchase token does not match the product ID.',
          errors: [
            {
              message: 'The purchase token does not match the product ID.',
              domain: 'androidpublisher',
              reason: 'purchaseTokenDoesNotMatchProductId',
              location: 'token',
              locationType: 'parameter',
            },
          ],
          status: 'INVALID_ARGUMENT',
        },
      },
    },
  },
];

const put = (token: string, state: string, more: object = {}) =>
  sandbox.call('PUT', `/_sandbox/store/purchases/${encodeURIComponent(token)}`, {
    product_id: PRODUCT,
    state,
    ...more,
  });
const calls = async (token: string) =>
  (await sandbox.call('GET', `/_sandbox/store/calls?token=${encodeURIComponent(token)}`)).json;

describe.each(stores)('$name', (store) => {
  const ask = (token: string, sku = PRODUCT, signal?: AbortSignal) =>
    store.validate(token, sku, store.good(), signal);

  test('a purchased token is purchased and not consumed', async () => {
    await put('t', 'purchased');
    const answer = await ask('t');
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ purchaseState: 0, consumptionState: store.unconsumed });
    expect(Number(answer.json.purchaseTime ?? answer.json.purchaseTimeMillis)).toBe(
      sandbox.clock.now().getTime(),
    );
  });

  test.each(['canceled', 'refunded'])('a %s token is not purchased', async (state) => {
    await put('t', state);
    const answer = await ask('t');
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject(store.canceled);
  });

  test('a pending token has the response of the original store', async () => {
    await put('t', 'pending');
    const answer = await ask('t');
    expect(answer.status).toBe(store.pending.status);
    expect(answer.json).toMatchObject(store.pending.body);
  });

  test('an unknown token and one of another product are refused like the original store does', async () => {
    await put('t', 'purchased');
    const unknown = await ask('never-seen');
    expect([unknown.status, unknown.json]).toEqual([store.unknown.status, store.unknown.body]);
    const other = await ask('t', 'another_product');
    expect([other.status, other.json]).toEqual([store.other.status, store.other.body]);
  });

  test('the state garbage is HTTP 200 with a page instead of JSON', async () => {
    await put('t', 'garbage');
    const answer = await ask('t');
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toContain('text/html');
    expect(answer.json).toBeNull();
  });

  test('the state unreachable closes the connection without a response', async () => {
    await put('t', 'unreachable');
    await expect(ask('t')).rejects.toThrow('fetch failed');
    await expect(store.consume('t', store.good())).rejects.toThrow('fetch failed');
  });

  test('the state slow responds late, as purchased', async () => {
    await put('t', 'slow');
    const { result, tookMs } = await timed(ask('t'));
    expect(result.json).toMatchObject({ purchaseState: 0 });
    expect(tookMs).toBeGreaterThanOrEqual(SLOW_MS - 5);
  });

  test('a slow response ends when the caller disconnects, and the sandbox continues', async () => {
    await put('t', 'slow');
    await expect(ask('t', PRODUCT, AbortSignal.timeout(SLOW_MS / 3))).rejects.toThrow();
    await pause(SLOW_MS);
    await put('t', 'purchased');
    expect((await ask('t')).status).toBe(200);
  });

  test('every validation is counted per token, whatever its response', async () => {
    await put('t', 'purchased');
    await put('down', 'unreachable');
    await ask('t');
    await ask('t', 'another_product');
    await ask('down').catch(() => undefined);
    await ask('never-seen');
    expect(await calls('t')).toEqual({ count: 2 });
    expect(await calls('down')).toEqual({ count: 1 });
    expect(await calls('never-seen')).toEqual({ count: 1 });
    expect(await calls('unasked')).toEqual({ count: 0 });
  });

  test('a consumed purchase stays consumed after a change of state, and consuming is not a validation', async () => {
    await put('t', 'purchased');
    expect((await store.consume('t', store.good())).status).toBeLessThan(300);
    expect(await calls('t')).toEqual({ count: 0 });
    expect((await ask('t')).json).toMatchObject({ purchaseState: 0, consumptionState: store.consumed });
    const changed = await put('t', 'refunded');
    expect(changed.json.data).toMatchObject({ state: 'refunded', consumed: true });
    expect((await ask('t')).json).toMatchObject({ ...store.canceled, consumptionState: store.consumed });
  });

  test('a token used for another product is a new purchase, not consumed', async () => {
    await put('t', 'purchased');
    await store.consume('t', store.good());
    expect((await put('t', 'purchased', { product_id: 'boost' })).json.data.consumed).toBe(false);
  });

  test('an unknown purchase cannot be consumed', async () => {
    await put('t', 'canceled');
    expect((await store.consume('t', store.good())).status).toBeGreaterThanOrEqual(400);
    expect((await store.consume('never-seen', store.good())).status).toBe(store.unknown.status);
  });

  test('missing credentials get 401, and refused ones 403, for validation and consumption', async () => {
    await put('t', 'purchased');
    expect((await store.validate('t', PRODUCT, {})).status).toBe(401);
    expect((await store.validate('t', PRODUCT, store.refused)).status).toBe(403);
    expect((await store.consume('t', {})).status).toBe(401);
    expect((await store.consume('t', store.refused)).status).toBe(403);
    expect((await ask('t')).json.consumptionState).toBe(store.unconsumed);
  });

  test('a long token with characters that need encoding is found', async () => {
    const token = `a/b?c=d&e:f+${'g'.repeat(1_000)}`;
    await put(token, 'purchased');
    expect((await ask(token)).status).toBe(200);
    expect(await calls(token)).toEqual({ count: 1 });
  });
});

describe('the API of Cafe Bazaar', () => {
  const [store] = stores as [Store];

  test('a response has the kind and fields of the official documentation', async () => {
    await put('t', 'purchased');
    expect((await store.validate('t', PRODUCT, store.good())).json).toEqual({
      consumptionState: 1,
      purchaseState: 0,
      kind: 'androidpublisher#inappPurchase',
      developerPayload: '',
      purchaseTime: sandbox.clock.now().getTime(),
    });
  });

  test('a second consumption returns 400 already_consumed', async () => {
    await put('t', 'purchased');
    await store.consume('t', store.good());
    const again = await store.consume('t', store.good());
    expect(again.status).toBe(400);
    expect(again.json.error).toBe('already_consumed');
  });

  test('a path without its trailing slash is not a route and never returns a purchase', async () => {
    const path = `${bazaar}/validate/${PACKAGE}/inapp/${PRODUCT}/purchases/t`;
    const answer = await sandbox.call('GET', path, undefined, { headers: store.good() });
    expect(answer.status).toBe(404);
    expect(answer.json.error).toBeUndefined();
  });

  test('errors have an error and an error_description', async () => {
    expect((await store.validate('t', PRODUCT, {})).json).toEqual({
      error: expect.any(String),
      error_description: expect.any(String),
    });
  });
});

describe('the API of Myket', () => {
  const [, store] = stores as [Store, Store];

  test('a second consumption returns 400 SkuAlreadyConsumed', async () => {
    await put('t', 'purchased');
    await store.consume('t', store.good());
    const again = await store.consume('t', store.good());
    expect(again.status).toBe(400);
    expect(again.json.messageCode).toBe('SkuAlreadyConsumed');
  });

  test('a verification without a tokenId returns 400', async () => {
    const headers = store.good();
    expect((await sandbox.call('POST', `${myketProduct}/${PRODUCT}/verify`, {}, { headers })).status).toBe(
      400,
    );
  });
});

function assertion(claims: object = {}, header: object = { alg: 'RS256', typ: 'JWT' }): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  const payload = {
    iss: 'billing@example.iam.gserviceaccount.com',
    scope: 'https://www.googleapis.com/auth/androidpublisher',
    aud: 'https://oauth2.googleapis.com/token',
    iat: 1_768_471_200,
    exp: 1_768_474_800,
    ...claims,
  };
  return `${encode(header)}.${encode(payload)}.c2lnbmF0dXJl`;
}

function askGoogleToken(jwt: string, grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer') {
  return sandbox.call(
    'POST',
    '/google-play/token',
    new URLSearchParams({ grant_type: grant, assertion: jwt }),
  );
}

describe('the API of Google Play', () => {
  const store = stores.at(-1) as Store;
  const headers = () => ({ headers: store.good() });
  const voided = (query = '') =>
    sandbox.call(
      'GET',
      `/google-play/androidpublisher/v3/applications/${PACKAGE}/purchases/voidedpurchases${query}`,
      undefined,
      headers(),
    );

  test('an unpaid purchase has its type, and every purchase its quantity', async () => {
    const fields = async (token: string) => {
      const { purchaseType, quantity } = (await store.validate(token, PRODUCT, store.good())).json;
      return [purchaseType, quantity];
    };
    await put('paid', 'purchased');
    expect(await fields('paid')).toEqual([undefined, 1]);
    for (const [type, number] of [
      ['test', 0],
      ['promo', 1],
      ['rewarded', 2],
    ] as const) {
      await put(type, 'purchased', { purchase_type: type });
      expect(await fields(type)).toEqual([number, 1]);
    }
    await put('three', 'purchased', { quantity: 3 });
    expect(await fields('three')).toEqual([undefined, 3]);
    expect((await put('t', 'purchased', { purchase_type: 'gift' })).status).toBe(422);
  });

  test('a signed assertion gets a bearer token that survives a reset and expires within the hour', async () => {
    const answer = await askGoogleToken(assertion());
    expect(answer.json).toEqual({
      access_token: expect.any(String),
      expires_in: 3_599,
      token_type: 'Bearer',
    });
    const authorization = { Authorization: `Bearer ${answer.json.access_token}` };
    await sandbox.call('DELETE', '/_sandbox');
    expect((await store.validate('t', PRODUCT, authorization)).status).toBe(400);
    sandbox.clock.advance(3_600_000);
    expect((await store.validate('t', PRODUCT, authorization)).status).toBe(401);
    bearer = (await askGoogleToken(assertion())).json.access_token;
  });

  test.each([
    ['another algorithm', assertion({}, { alg: 'HS256' }), 'invalid_grant'],
    ['no issuer', assertion({ iss: '' }), 'invalid_grant'],
    ['an issuer that begins with "invalid"', assertion({ iss: 'invalid@example' }), 'invalid_grant'],
    ['a lifetime of more than one hour', assertion({ exp: 1_768_474_801 }), 'invalid_grant'],
    ['another scope', assertion({ scope: 'https://www.googleapis.com/auth/drive' }), 'invalid_scope'],
    ['no signature', assertion().replace(/[^.]+$/, ''), 'invalid_grant'],
    ['no JWT', 'nonsense', 'invalid_grant'],
  ])('an assertion with %s is refused', async (_title, jwt, error) => {
    const answer = await askGoogleToken(jwt);
    expect(answer.status).toBe(400);
    expect(answer.json.error).toBe(error);
  });

  test('any other grant type is unsupported', async () => {
    expect((await askGoogleToken(assertion(), 'password')).json.error).toBe('unsupported_grant_type');
  });

  test('a purchase has its times as strings, an order id and its account', async () => {
    await put('t', 'purchased', { account_id: 'user-9' });
    expect((await store.validate('t', PRODUCT, store.good())).json).toMatchObject({
      kind: 'androidpublisher#productPurchase',
      purchaseTimeMillis: String(sandbox.clock.now().getTime()),
      acknowledgementState: 0,
      orderId: expect.stringMatching(/^GPA\.\d{4}-\d{4}-\d{4}-\d{5}$/),
      purchaseToken: 't',
      productId: PRODUCT,
      obfuscatedExternalAccountId: 'user-9',
    });
  });

  test('acknowledging is stored, may be repeated, and does not consume', async () => {
    await put('t', 'purchased');
    const path = `${googleProduct}/${PRODUCT}/tokens/t:acknowledge`;
    expect((await sandbox.call('POST', path, {}, headers())).status).toBe(204);
    expect((await sandbox.call('POST', path, undefined, headers())).status).toBe(204);
    expect((await store.validate('t', PRODUCT, store.good())).json).toMatchObject({
      acknowledgementState: 1,
      consumptionState: 0,
    });
  });

  test('a pending purchase cannot be acknowledged, and an unknown action returns 404', async () => {
    await put('t', 'pending');
    const path = `${googleProduct}/${PRODUCT}/tokens/t`;
    expect((await sandbox.call('POST', `${path}:acknowledge`, {}, headers())).status).toBe(400);
    expect((await sandbox.call('POST', `${path}:refund`, {}, headers())).status).toBe(404);
  });

  test('every error has a reason in errors, next to code, message and status', async () => {
    await put('t', 'pending');
    const path = `${googleProduct}/${PRODUCT}/tokens/t`;
    const answers = {
      authError: await store.validate('t', PRODUCT, {}),
      permissionDenied: await store.validate('t', PRODUCT, store.refused),
      productNotOwnedByUser: await sandbox.call('POST', `${path}:acknowledge`, {}, headers()),
      invalid: await voided('?maxResults=none'),
      notFound: await sandbox.call('POST', `${path}:refund`, {}, headers()),
    };
    for (const [reason, { status, json }] of Object.entries(answers)) {
      const { message } = json.error;
      expect(json.error).toMatchObject({
        code: status,
        message: expect.any(String),
        status: expect.any(String),
      });
      expect(json.error.errors).toEqual([expect.objectContaining({ reason, message })]);
    }
    expect(answers.invalid.json.error.errors[0]).toMatchObject({ location: 'maxResults' });
  });

  test('voidedpurchases lists the refunds of the last 30 days, and omits an empty list', async () => {
    expect((await voided()).json).toEqual({});
    await put('old', 'refunded');
    sandbox.clock.advance(31 * 86_400_000);
    bearer = (await askGoogleToken(assertion())).json.access_token;
    await put('new', 'refunded');
    await put('kept', 'purchased');
    const answer = await voided();
    expect(answer.status).toBe(200);
    expect(answer.json.voidedPurchases).toEqual([
      {
        kind: 'androidpublisher#voidedPurchase',
        purchaseToken: 'new',
        purchaseTimeMillis: expect.any(String),
        voidedTimeMillis: String(sandbox.clock.now().getTime()),
        orderId: expect.any(String),
        voidedSource: 1,
        voidedReason: 1,
      },
    ]);
    expect((await voided(`?endTime=${sandbox.clock.now().getTime() - 1}`)).json).toEqual({});
  });

  test('voided purchases come in pages', async () => {
    for (const token of ['a', 'b', 'c']) await put(token, 'refunded');
    const first = (await voided('?maxResults=2')).json;
    expect(first.voidedPurchases).toHaveLength(2);
    const second = (await voided(`?maxResults=2&token=${first.tokenPagination.nextPageToken}`)).json;
    expect(second.voidedPurchases).toHaveLength(1);
    expect(second.tokenPagination).toBeUndefined();
    expect((await voided('?maxResults=none')).status).toBe(400);
  });
});

describe('the control routes of purchases', () => {
  test('a control route returns the purchase in its new state', async () => {
    expect((await put('t', 'pending')).json).toEqual({
      data: {
        token: 't',
        product_id: PRODUCT,
        state: 'pending',
        account_id: null,
        purchase_type: null,
        quantity: 1,
        consumed: false,
        acknowledged: false,
      },
    });
  });

  test('an unknown state and a missing product are rejected with 422 under their names', async () => {
    const answer = await put('t', 'stolen', { product_id: undefined });
    expect(answer.status).toBe(422);
    expect(Object.keys(answer.json.errors).sort()).toEqual(['product_id', 'state']);
  });

  test('a count without a token is rejected with 422', async () => {
    expect((await sandbox.call('GET', '/_sandbox/store/calls')).status).toBe(422);
  });

  test('a reset deletes purchases and counts', async () => {
    const [store] = stores as [Store];
    await put('t', 'purchased');
    await store.validate('t', PRODUCT, store.good());
    expect((await sandbox.call('DELETE', '/_sandbox')).status).toBe(200);
    expect(await calls('t')).toEqual({ count: 0 });
    expect((await store.validate('t', PRODUCT, store.good())).status).toBe(404);
  });
});
