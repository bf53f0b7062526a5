/** The contract of every store channel, tested with its emulator and with misbehaving servers. */
import { createProviderClient, type ProviderClient } from '@fitness/shared/http/provider-client.ts';
import { DAY_MS, HOUR_MS } from '@fitness/shared/kernel/clock.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { ManualClock } from '@fitness/shared/testing/manual-clock.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { refusedEnvironment } from '../../../sandbox/src/providers/index.ts';
import { type Sandbox, startSandbox } from '../../../sandbox/src/service.ts';
import type { StoreChannel } from '../src/channels/channel.ts';
import { CHANNEL_NAMES, type ChannelName, createChannel } from '../src/channels/index.ts';
import { readConfig } from '../src/config.ts';
import { type Behavior, drip, flood, say, silence, storeThat } from './misbehaving-store.ts';
import {
  environment,
  isConsumed,
  LONG_STORE_TIMEOUT_MS,
  newToken,
  putPurchase,
  storeCalls,
} from './support.ts';

const PRODUCT = 'premium_plus';
/** For stores that do not respond at all. */
const NO_TIME_MS = 10;

let sandbox: Sandbox;
let clock: ManualClock;
const clients: ProviderClient[] = [];

const open = (
  name: ChannelName,
  change: Record<string, string> = {},
  base = sandbox.url,
  deadlineMs = LONG_STORE_TIMEOUT_MS,
): StoreChannel => {
  const config = readConfig(environment(base, '127.0.0.1:1', { STORE_CHANNEL: name, ...change }));
  // One client for each channel, so failures in one test do not open the circuit breaker of the next.
  const client = createProviderClient({ target: name, deadlineMs });
  clients.push(client);
  return createChannel(config, { client, clock, realTime: clock });
};

beforeAll(async () => {
  clock = new ManualClock();
  sandbox = await startSandbox({ port: 0, clock });
});
afterAll(async () => {
  for (const client of clients) client.close();
  await sandbox.close();
});

const harness = (): { sandbox: Sandbox } => ({ sandbox });
const bought = async (state?: Parameters<typeof putPurchase>[2], product = PRODUCT) => {
  const purchaseToken = newToken();
  await putPurchase(harness(), purchaseToken, state, product);
  return { productId: PRODUCT, purchaseToken };
};

describe.each(CHANNEL_NAMES)('%s', (name) => {
  test('the channel has the name that clients send', () => {
    expect(open(name).name).toBe(name);
  });

  test('a purchase is verified before and after it is consumed', async () => {
    const channel = open(name);
    const product = await bought('purchased');
    expect(await channel.verify(product)).toEqual({ kind: 'purchased' });
    expect(await channel.acknowledge(product)).toEqual({ outcome: 'done' });
    expect(await isConsumed(harness(), product.purchaseToken, PRODUCT)).toBe(true);
    expect(await channel.verify(product)).toEqual({ kind: 'purchased' });
  });

  test('acknowledging a purchase twice succeeds', async () => {
    const channel = open(name);
    const product = await bought('purchased');
    expect(await channel.acknowledge(product)).toEqual({ outcome: 'done' });
    expect(await channel.acknowledge(product)).toEqual({ outcome: 'done' });
  });

  test('a token with any characters reaches the store unchanged', async () => {
    const purchaseToken = `a/b?c=#%2e+ ${newToken()} شناسه`;
    await putPurchase(harness(), purchaseToken);
    const channel = open(name);
    expect(await channel.verify({ productId: PRODUCT, purchaseToken })).toEqual({ kind: 'purchased' });
    expect(await storeCalls(harness(), purchaseToken)).toBe(1);
    expect(await channel.acknowledge({ productId: PRODUCT, purchaseToken })).toEqual({ outcome: 'done' });
  });

  test.each(['canceled', 'refunded', 'pending'] as const)('%s is not purchased', async (state) => {
    expect(await open(name).verify(await bought(state))).toMatchObject({ kind: 'not_purchased' });
  });

  test('an unknown token, and one of another product, are not purchased', async () => {
    const channel = open(name);
    const unknown = { productId: PRODUCT, purchaseToken: newToken() };
    expect(await channel.verify(unknown)).toEqual({ kind: 'not_purchased', reason: 'no_such_purchase' });
    expect(await channel.verify(await bought('purchased', 'boost_pro'))).toMatchObject({
      kind: 'not_purchased',
    });
  });

  test('200 with an HTML page is unreadable and does not acknowledge', async () => {
    const channel = open(name);
    const product = await bought('garbage');
    expect(await channel.verify(product)).toMatchObject({ kind: 'unreadable' });
    expect(await channel.acknowledge(product)).toMatchObject({ outcome: 'failed' });
  });

  test.each(['unreachable', 'slow'] as const)('a store that is %s is unreachable', async (state) => {
    const channel = open(name, {}, sandbox.url, NO_TIME_MS);
    const product = await bought(state);
    expect(await channel.verify(product)).toMatchObject({ kind: 'unreachable' });
    expect(await channel.acknowledge(product)).toMatchObject({ outcome: 'failed' });
  });

  test('refused credentials are never a verdict on the purchase', async () => {
    const channel = open(name, refusedEnvironment(sandbox.url));
    const product = await bought('purchased');
    expect(await channel.verify(product)).toMatchObject({ kind: 'credentials_refused' });
    expect(await channel.acknowledge(product)).toMatchObject({ outcome: 'failed' });
    const redeemed = { ...product, redeemedAt: clock.now() };
    expect(await channel.findRefunded([redeemed])).toEqual(['unknown']);
  });

  test('findRefunded reports which purchases were refunded', async () => {
    const channel = open(name);
    const [purchased, refunded] = [await bought('purchased'), await bought('refunded')];
    const redeemedAt = clock.now();
    const products = [purchased, refunded].map((product) => ({ ...product, redeemedAt }));
    clock.advance(DAY_MS);
    expect(await channel.findRefunded(products)).toEqual(['not_refunded', 'refunded']);
    expect(await channel.findRefunded([])).toEqual([]);
  });

  test('a purchase that the store no longer finds is not refunded', async () => {
    const lost = { productId: PRODUCT, purchaseToken: newToken(), redeemedAt: clock.now() };
    expect(await open(name).findRefunded([lost])).toEqual(['not_refunded']);
  });
});

/** Short for responses that never end, and long for all others, so a busy machine does not time out. */
const deadlineFor = (behave: Behavior): number =>
  behave === silence || behave === drip ? NO_TIME_MS : LONG_STORE_TIMEOUT_MS;

describe.each(CHANNEL_NAMES)('%s, with a misbehaving store', (name) => {
  const product = { productId: PRODUCT, purchaseToken: 'token' };

  test.each<[string, Behavior, string]>([
    ['500', say(500, '{"error":"oops"}'), 'unreachable'],
    ['502 with an HTML page', say(502, '<html>'), 'unreachable'],
    ['503 with a purchase', say(503, '{"purchaseState":0}'), 'unreachable'],
    ['429', say(429, '{}'), 'unreachable'],
    ['no response in time', silence, 'unreachable'],
    ['half a response in time', drip, 'unreachable'],
    ['a connection that is closed', (_response, socket) => void socket.destroy(), 'unreachable'],
    [
      'a connection that is closed within the response',
      (response, socket) => {
        response.writeHead(200, { 'content-length': '1000' });
        response.write('{"purchaseState":0}', () => socket.destroy());
      },
      'unreachable',
    ],
    ['a response that is not HTTP', (_response, socket) => void socket.end('hello\r\n\r\n'), 'unreachable'],
    ['401', say(401, '{}'), 'credentials_refused'],
    ['403 with an HTML page', say(403, '<html>'), 'credentials_refused'],
    ['200 without a body', say(200, ''), 'unreadable'],
    [
      '200 with an HTML page',
      say(200, '<html>Sign in</html>', { 'content-type': 'text/html' }),
      'unreadable',
    ],
    ['200 with other JSON', say(200, '{"ok":true}'), 'unreadable'],
    ['200 with an unknown state', say(200, '{"purchaseState":7}'), 'unreadable'],
    ['200 with the state as a string', say(200, '{"purchaseState":"0"}'), 'unreadable'],
    ['200 with half a purchase', say(200, '{"purchaseState":0'), 'unreadable'],
    ['200 with a list of purchases', say(200, '[{"purchaseState":0}]'), 'unreadable'],
    ['200 with null', say(200, 'null'), 'unreadable'],
    ['200 without end', flood, 'unreadable'],
    ['404 of a proxy', say(404, '<html>not here</html>'), 'unreadable'],
    ['400', say(400, '{"error":"invalid_value"}'), 'unreadable'],
    ['a redirect', say(302, '', { location: 'http://127.0.0.1:1/' }), 'unreadable'],
  ])('%s has the right verdict', async (_name, behave, kind) => {
    const store = await storeThat(behave);
    try {
      const channel = open(name, {}, store.url, deadlineFor(behave));
      expect(await channel.verify(product)).toMatchObject({ kind });
      const redeemed = { ...product, redeemedAt: clock.now() };
      if (kind !== 'unreadable') expect(await channel.findRefunded([redeemed])).toEqual(['unknown']);
    } finally {
      await store.close();
    }
  });

  test.each<[string, Behavior]>([
    ['500', say(500, '{}')],
    ['no response in time', silence],
    ['half a response in time', drip],
    ['401', say(401, '{}')],
    ['200 with an HTML page', say(200, '<html>Sign in</html>')],
    ['200 without end', flood],
    ['404', say(404, '{"error":{"code":404},"messageCode":"x"}')],
    ['a redirect', say(302, '', { location: 'http://127.0.0.1:1/' })],
  ])('%s does not acknowledge a purchase', async (_name, behave) => {
    const store = await storeThat(behave);
    try {
      const channel = open(name, {}, store.url, deadlineFor(behave));
      expect(await channel.acknowledge(product)).toMatchObject({ outcome: 'failed' });
    } finally {
      await store.close();
    }
  });

  test('a redirect is not followed', async () => {
    let followed = 0;
    const elsewhere = await storeThat((response, socket) => {
      followed += 1;
      say(200, '{"purchaseState":0}')(response, socket);
    });
    const store = await storeThat(say(307, '', { location: `${elsewhere.url}/` }));
    try {
      expect(await open(name, {}, store.url).verify(product)).toMatchObject({ kind: 'unreadable' });
      expect(followed).toBe(0);
    } finally {
      await Promise.all([store.close(), elsewhere.close()]);
    }
  });

  test('an endless response is cut off after a megabyte, long before the deadline', async () => {
    let sent = 0;
    const store = await storeThat((response, socket) => {
      response.once('close', () => {
        sent = socket.bytesWritten;
      });
      flood(response, socket);
    });
    try {
      await open(name, {}, store.url).verify(product);
      await eventually(() => sent > 0);
      // Far more than a megabyte, because sockets and streams have buffers.
      expect(sent).toBeLessThan(20 * 1024 * 1024);
    } finally {
      await store.close();
    }
  });

  test('a refused connection is unreachable', async () => {
    const channel = open(name, {}, 'http://127.0.0.1:1');
    expect(await channel.verify(product)).toMatchObject({ kind: 'unreachable' });
    expect(await channel.acknowledge(product)).toMatchObject({ outcome: 'failed' });
    expect(await channel.findRefunded([{ ...product, redeemedAt: clock.now() }])).toEqual(['unknown']);
  });

  test('the circuit breaker stops requests to a store that keeps failing', async () => {
    let requests = 0;
    const store = await storeThat((response, socket) => {
      requests += 1;
      say(500, '')(response, socket);
    });
    try {
      const channel = open(name, {}, store.url);
      for (let request = 0; request < 30; request += 1)
        expect(await channel.verify(product)).toMatchObject({ kind: 'unreachable' });
      expect(requests).toBeLessThan(30);
    } finally {
      await store.close();
    }
  });

  test('a verdict contains neither the token, the address nor a credential', async () => {
    const channel = open(name, {}, 'http://127.0.0.1:1');
    const verdict = JSON.stringify(await channel.verify({ ...product, purchaseToken: 'very-secret' }));
    expect(verdict).not.toMatch(/very-secret|127\.0\.0\.1|sandbox/);
  });
});

/** The verdict on one response of the store. */
const verdictOn = async (name: ChannelName, status: number, body: unknown) => {
  const store = await storeThat(say(status, typeof body === 'string' ? body : JSON.stringify(body)));
  try {
    return await open(name, {}, store.url).verify({ productId: PRODUCT, purchaseToken: 't' });
  } finally {
    await store.close();
  }
};
const noSuchPurchase = { kind: 'not_purchased', reason: 'no_such_purchase' };
const otherProduct = { kind: 'not_purchased', reason: 'other_product' };
const ours = { kind: 'credentials_refused' };
const later = { kind: 'unreachable' };
const unknown = { kind: 'unreadable' };

describe('cafebazaar', () => {
  test.each([
    [404, 'not_found', 'The requested purchase is not found!', noSuchPurchase],
    [404, 'invalid_value', 'Product is not found', unknown],
    [404, 'invalid_value', 'Package name is invalid', ours],
    [400, 'invalid_value', 'Invalid token!', unknown],
    [400, 'not_found', 'The requested purchase is not found!', unknown],
  ])(
    'the Cafe Bazaar response %i %s (%s) has the right verdict',
    async (status, error, error_description, verdict) => {
      expect(await verdictOn('cafebazaar', status, { error, error_description })).toMatchObject(verdict);
    },
  );

  test('an unknown product does not prove that there is no purchase', async () => {
    const store = await storeThat(say(404, '{"error":"invalid_value","error_description":"product"}'));
    try {
      const verdict = await open('cafebazaar', {}, store.url).verify({ productId: 'x', purchaseToken: 't' });
      expect(verdict).toMatchObject({ kind: 'unreadable' });
    } finally {
      await store.close();
    }
  });
});

describe('myket', () => {
  test.each([
    [404, 'PurchaseNotFound', noSuchPurchase],
    [400, 'InvalidParameter', unknown],
    [409, 'Conflict', unknown],
  ])('the Myket response %i %s has the right verdict', async (status, messageCode, verdict) => {
    const body = { code: status, messageCode, translatedMessage: 'x' };
    expect(await verdictOn('myket', status, body)).toMatchObject(verdict);
  });
});

describe('google_play', () => {
  const failure = (code: number, reason: string, message = 'x') => ({
    error: { code, message, errors: [{ message, domain: 'global', reason }] },
  });

  test.each([
    [400, 'invalid', noSuchPurchase],
    [400, 'invalidValue', noSuchPurchase],
    [400, 'purchaseTokenDoesNotMatchPackageName', noSuchPurchase],
    [400, 'productNotOwnedByUser', noSuchPurchase],
    [400, 'purchaseTokenDoesNotMatchProductId', otherProduct],
    [400, 'required', unknown],
    [400, 'somethingNew', unknown],
    [401, 'authError', ours],
    [403, 'userInsufficientPermission', ours],
    [403, 'projectNotLinked', ours],
    [403, 'rateLimitExceeded', later],
    [403, 'userRateLimitExceeded', later],
    [403, 'quotaExceeded', later],
    [403, 'dailyLimitExceeded', later],
    [404, 'purchaseTokenNotFound', noSuchPurchase],
    [404, 'notFound', noSuchPurchase],
    [404, 'applicationNotFound', ours],
    [409, 'concurrentUpdate', later],
    [410, 'purchaseTokenNoLongerValid', noSuchPurchase],
    [412, 'conditionNotMet', unknown],
  ])('the Google Play response %i %s has the right verdict', async (status, reason, verdict) => {
    expect(await verdictOn('google_play', status, failure(status, reason))).toMatchObject(verdict);
  });

  test('400 "Invalid Value" without an error list has the same verdict, and a proxy’s 400 has none', async () => {
    const body = { error: { code: 400, message: 'Invalid Value', status: 'INVALID_ARGUMENT' } };
    expect(await verdictOn('google_play', 400, body)).toEqual(noSuchPurchase);
    expect(await verdictOn('google_play', 400, '<html>Bad Request</html>')).toMatchObject(unknown);
    expect(await verdictOn('google_play', 403, '<html>Forbidden</html>')).toMatchObject(ours);
  });

  test.each([
    ['test', 0],
    ['promo', 1],
    ['rewarded', 2],
  ])('a %s purchase is purchased and marked as unpaid', async (type, purchaseType) => {
    expect(await verdictOn('google_play', 200, { purchaseState: 0, purchaseType })).toEqual({
      kind: 'purchased',
      unpaid: type,
    });
  });

  test('the verdict includes a quantity above one', async () => {
    const verdict = await verdictOn('google_play', 200, { purchaseState: 0, quantity: 3 });
    expect(verdict).toEqual({ kind: 'purchased', quantity: 3 });
    expect(await verdictOn('google_play', 200, { purchaseState: 0, quantity: 1 })).toEqual({
      kind: 'purchased',
    });
  });

  test('an access token that is refused before it expires is replaced once', async () => {
    const product = await bought('purchased');
    // The channel's clock stands still while the sandbox's advances, so the channel keeps an expired token.
    const frozen = new ManualClock(clock.now());
    const config = readConfig(environment(sandbox.url, '127.0.0.1:1', { STORE_CHANNEL: 'google_play' }));
    const client = createProviderClient({ target: 'google_play', deadlineMs: LONG_STORE_TIMEOUT_MS });
    clients.push(client);
    const stale = createChannel(config, { client, clock, realTime: frozen });
    expect(await stale.verify(product)).toEqual({ kind: 'purchased' });
    clock.advance(2 * HOUR_MS);
    expect(await stale.verify(product)).toEqual({ kind: 'purchased' });
  });

  test('an invalid private key is reported as refused credentials', async () => {
    const channel = open('google_play', { GOOGLE_PLAY_PRIVATE_KEY: 'no key' });
    expect(await channel.verify(await bought('purchased'))).toMatchObject({ kind: 'credentials_refused' });
  });

  test.each<[string, Behavior]>([
    ['breaks off', say(500, '{}')],
    ['has no end', say(200, '{"tokenPagination":{"nextPageToken":"next"}}')],
  ])('a list of refunds that %s proves only the refunds that it names', async (_name, rest) => {
    const [named, other] = [newToken(), newToken()];
    const page = {
      voidedPurchases: [{ purchaseToken: named }],
      tokenPagination: { nextPageToken: 'next' },
    };
    let requests = 0;
    const store = await storeThat((response, socket) => {
      requests += 1;
      (requests === 1 ? say(200, JSON.stringify(page)) : rest)(response, socket);
    });
    try {
      const redeemed = { productId: PRODUCT, redeemedAt: clock.now() };
      const products = [named, other].map((purchaseToken) => ({ ...redeemed, purchaseToken }));
      const channel = open('google_play', {}, store.url);
      expect(await channel.findRefunded(products)).toEqual(['refunded', 'unknown']);
    } finally {
      await store.close();
    }
  });

  test('a response about another product is not a purchase', async () => {
    const store = await storeThat(say(200, '{"purchaseState":0,"productId":"boost_basic"}'));
    try {
      const verdict = await open('google_play', {}, store.url).verify({
        productId: PRODUCT,
        purchaseToken: 't',
      });
      expect(verdict).toEqual({ kind: 'not_purchased', reason: 'other_product' });
    } finally {
      await store.close();
    }
  });
});
