/** One contract for every store, against its emulator; and what each answers when it does not behave. */
import { DAY_MS, HOUR_MS, ManualClock } from '@fitness/shared/clock.ts';
import { createProviderClient, type ProviderClient } from '@fitness/shared/http/provider-client.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Sandbox, startSandbox } from '../../../sandbox/src/service.ts';
import type { StoreChannel } from '../src/channels/channel.ts';
import { CHANNEL_NAMES, type ChannelName, createChannel } from '../src/channels/index.ts';
import { readConfig } from '../src/config.ts';
import { type Behaviour, drip, flood, say, silence, storeThat } from './misbehaving-store.ts';
import {
  environment,
  IMPATIENT_MS,
  isConsumed,
  newToken,
  PATIENT_MS,
  putPurchase,
  storeCalls,
} from './support.ts';

const PRODUCT = 'premium_plus';

let sandbox: Sandbox;
let clock: ManualClock;
const clients: ProviderClient[] = [];

const open = (
  name: ChannelName,
  change: Record<string, string> = {},
  base = sandbox.url,
  deadlineMs = PATIENT_MS,
): StoreChannel => {
  const config = readConfig(environment(base, '127.0.0.1:1', { STORE_CHANNEL: name, ...change }));
  // A client for each, so that the failures of one test do not open the breaker of the next.
  const client = createProviderClient({ target: name, deadlineMs });
  clients.push(client);
  return createChannel(config, { client, clock });
};

beforeAll(async () => {
  clock = new ManualClock();
  sandbox = await startSandbox({ port: 0, clock });
});
afterAll(async () => {
  for (const client of clients) client.close();
  await sandbox.close();
});

const world = (): { sandbox: Sandbox } => ({ sandbox });
const bought = async (state?: Parameters<typeof putPurchase>[2], product = PRODUCT) => {
  const purchaseToken = newToken();
  await putPurchase(world(), purchaseToken, state, product);
  return { productId: PRODUCT, purchaseToken };
};

describe.each(CHANNEL_NAMES)('%s', (name) => {
  test('is called by the name that clients send', () => {
    expect(open(name).name).toBe(name);
  });

  test('a purchase is purchased, before and after it is consumed', async () => {
    const channel = open(name);
    const product = await bought('purchased');
    expect(await channel.verify(product)).toEqual({ kind: 'purchased' });
    expect(await channel.settle(product)).toEqual({ outcome: 'done' });
    expect(await isConsumed(world(), product.purchaseToken, PRODUCT)).toBe(true);
    expect(await channel.verify(product)).toEqual({ kind: 'purchased' });
  });

  test('settling again does nothing and succeeds', async () => {
    const channel = open(name);
    const product = await bought('purchased');
    expect(await channel.settle(product)).toEqual({ outcome: 'done' });
    expect(await channel.settle(product)).toEqual({ outcome: 'done' });
  });

  test('a token with every kind of character arrives as it is', async () => {
    const purchaseToken = `a/b?c=#%2e+ ${newToken()} شناسه`;
    await putPurchase(world(), purchaseToken);
    const channel = open(name);
    expect(await channel.verify({ productId: PRODUCT, purchaseToken })).toEqual({ kind: 'purchased' });
    expect(await storeCalls(world(), purchaseToken)).toBe(1);
    expect(await channel.settle({ productId: PRODUCT, purchaseToken })).toEqual({ outcome: 'done' });
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

  test('200 with a page is unreadable, and settles nothing', async () => {
    const channel = open(name);
    const product = await bought('garbage');
    expect(await channel.verify(product)).toMatchObject({ kind: 'unreadable' });
    expect(await channel.settle(product)).toMatchObject({ outcome: 'failed' });
  });

  test.each(['unreachable', 'slow'] as const)('a store that is %s is unreachable', async (state) => {
    const channel = open(name, {}, sandbox.url, IMPATIENT_MS);
    const product = await bought(state);
    expect(await channel.verify(product)).toMatchObject({ kind: 'unreachable' });
    expect(await channel.settle(product)).toMatchObject({ outcome: 'failed' });
  });

  test('refused credentials are ours, never a verdict on the purchase', async () => {
    const refused = {
      CAFEBAZAAR_API_SECRET: 'invalid-secret',
      MYKET_ACCESS_TOKEN: 'invalid-token',
      GOOGLE_PLAY_CLIENT_EMAIL: 'invalid@example.com',
    };
    const channel = open(name, refused);
    const product = await bought('purchased');
    expect(await channel.verify(product)).toMatchObject({ kind: 'credentials_refused' });
    expect(await channel.settle(product)).toMatchObject({ outcome: 'failed' });
    const redeemed = { ...product, redeemedAt: clock.now() };
    expect(await channel.findRefunded([redeemed])).toEqual(['unknown']);
  });

  test('reports which of the redeemed purchases were refunded', async () => {
    const channel = open(name);
    const [standing, refunded] = [await bought('purchased'), await bought('refunded')];
    const redeemedAt = clock.now();
    const products = [standing, refunded].map((product) => ({ ...product, redeemedAt }));
    clock.advance(DAY_MS);
    expect(await channel.findRefunded(products)).toEqual(['standing', 'refunded']);
    expect(await channel.findRefunded([])).toEqual([]);
  });

  test('what the store no longer finds is not taken for refunded', async () => {
    const lost = { productId: PRODUCT, purchaseToken: newToken(), redeemedAt: clock.now() };
    expect(await open(name).findRefunded([lost])).toEqual(['standing']);
  });
});

/** What ends at the deadline needs a short one; everything else is not to be cut short by a busy machine. */
const deadlineFor = (behave: Behaviour): number =>
  behave === silence || behave === drip ? IMPATIENT_MS : PATIENT_MS;

describe.each(CHANNEL_NAMES)('%s, when the answer is no answer', (name) => {
  const product = { productId: PRODUCT, purchaseToken: 'token' };

  test.each<[string, Behaviour, string]>([
    ['500', say(500, '{"error":"oops"}'), 'unreachable'],
    ['502 with a page', say(502, '<html>'), 'unreachable'],
    ['503 with a purchase', say(503, '{"purchaseState":0}'), 'unreachable'],
    ['429', say(429, '{}'), 'unreachable'],
    ['no answer in time', silence, 'unreachable'],
    ['half an answer in time', drip, 'unreachable'],
    ['a connection that is cut', (_response, socket) => void socket.destroy(), 'unreachable'],
    [
      'a connection that is cut within the answer',
      (response, socket) => {
        response.writeHead(200, { 'content-length': '1000' });
        response.write('{"purchaseState":0}', () => socket.destroy());
      },
      'unreachable',
    ],
    ['what is no HTTP', (_response, socket) => void socket.end('hello\r\n\r\n'), 'unreachable'],
    ['401', say(401, '{}'), 'credentials_refused'],
    ['403 with a page', say(403, '<html>'), 'credentials_refused'],
    ['200 with nothing', say(200, ''), 'unreadable'],
    ['200 with a page', say(200, '<html>Sign in</html>', { 'content-type': 'text/html' }), 'unreadable'],
    ['200 with other JSON', say(200, '{"ok":true}'), 'unreadable'],
    ['200 with an unknown state', say(200, '{"purchaseState":7}'), 'unreadable'],
    ['200 with a state as text', say(200, '{"purchaseState":"0"}'), 'unreadable'],
    ['200 with half a purchase', say(200, '{"purchaseState":0'), 'unreadable'],
    ['200 with a list of purchases', say(200, '[{"purchaseState":0}]'), 'unreadable'],
    ['200 with null', say(200, 'null'), 'unreadable'],
    ['200 without end', flood, 'unreadable'],
    ['404 of a proxy', say(404, '<html>not here</html>'), 'unreadable'],
    ['400', say(400, '{"error":"invalid_value"}'), 'unreadable'],
    ['a redirect', say(302, '', { location: 'http://127.0.0.1:1/' }), 'unreadable'],
  ])('%s', async (_name, behave, kind) => {
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

  test.each<[string, Behaviour]>([
    ['500', say(500, '{}')],
    ['no answer in time', silence],
    ['half an answer in time', drip],
    ['401', say(401, '{}')],
    ['200 with a page', say(200, '<html>Sign in</html>')],
    ['200 without end', flood],
    ['404', say(404, '{"error":{"code":404},"messageCode":"x"}')],
    ['a redirect', say(302, '', { location: 'http://127.0.0.1:1/' })],
  ])('%s does not settle a purchase', async (_name, behave) => {
    const store = await storeThat(behave);
    try {
      const channel = open(name, {}, store.url, deadlineFor(behave));
      expect(await channel.settle(product)).toMatchObject({ outcome: 'failed' });
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

  test('an endless answer is hung up on after a megabyte, long before the deadline', async () => {
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
      // What the two kernels and streams hold between them comes on top.
      expect(sent).toBeLessThan(20 * 1024 * 1024);
    } finally {
      await store.close();
    }
  });

  test('a refused connection', async () => {
    const channel = open(name, {}, 'http://127.0.0.1:1');
    expect(await channel.verify(product)).toMatchObject({ kind: 'unreachable' });
    expect(await channel.settle(product)).toMatchObject({ outcome: 'failed' });
    expect(await channel.findRefunded([{ ...product, redeemedAt: clock.now() }])).toEqual(['unknown']);
  });

  test('a store that fails again and again is left alone for a while', async () => {
    let asked = 0;
    const store = await storeThat((response, socket) => {
      asked += 1;
      say(500, '')(response, socket);
    });
    try {
      const channel = open(name, {}, store.url);
      for (let turn = 0; turn < 30; turn += 1)
        expect(await channel.verify(product)).toMatchObject({ kind: 'unreachable' });
      expect(asked).toBeLessThan(30);
    } finally {
      await store.close();
    }
  });

  test('no detail holds the token, the address or a credential', async () => {
    const channel = open(name, {}, 'http://127.0.0.1:1');
    const verdict = JSON.stringify(await channel.verify({ ...product, purchaseToken: 'very-secret' }));
    expect(verdict).not.toMatch(/very-secret|127\.0\.0\.1|sandbox/);
  });
});

describe('cafebazaar', () => {
  test('an unknown product at the store is no proof that there is no purchase', async () => {
    const store = await storeThat(say(404, '{"error":"invalid_value","error_description":"product"}'));
    try {
      const verdict = await open('cafebazaar', {}, store.url).verify({ productId: 'x', purchaseToken: 't' });
      expect(verdict).toMatchObject({ kind: 'unreadable' });
    } finally {
      await store.close();
    }
  });
});

describe('google_play', () => {
  test('a token that is refused before its time is replaced once', async () => {
    const product = await bought('purchased');
    // Time stands still for the client, so that it takes its token for good; the sandbox’s goes on.
    const standing = new ManualClock(clock.now());
    const config = readConfig(environment(sandbox.url, '127.0.0.1:1', { STORE_CHANNEL: 'google_play' }));
    const client = createProviderClient({ target: 'google_play', deadlineMs: PATIENT_MS });
    clients.push(client);
    const stale = createChannel(config, { client, clock: standing });
    expect(await stale.verify(product)).toEqual({ kind: 'purchased' });
    clock.advance(2 * HOUR_MS);
    expect(await stale.verify(product)).toEqual({ kind: 'purchased' });
  });

  test('a key that cannot sign is refused credentials', async () => {
    const channel = open('google_play', { GOOGLE_PLAY_PRIVATE_KEY: 'no key' });
    expect(await channel.verify(await bought('purchased'))).toMatchObject({ kind: 'credentials_refused' });
  });

  test.each<[string, Behaviour]>([
    ['breaks off', say(500, '{}')],
    ['has no end', say(200, '{"tokenPagination":{"nextPageToken":"next"}}')],
  ])(
    'a list of refunds that %s tells of those that it names, and nothing of the others',
    async (_name, rest) => {
      const [named, other] = [newToken(), newToken()];
      const page = {
        voidedPurchases: [{ purchaseToken: named }],
        tokenPagination: { nextPageToken: 'next' },
      };
      let asked = 0;
      const store = await storeThat((response, socket) => {
        asked += 1;
        (asked === 1 ? say(200, JSON.stringify(page)) : rest)(response, socket);
      });
      try {
        const redeemed = { productId: PRODUCT, redeemedAt: clock.now() };
        const products = [named, other].map((purchaseToken) => ({ ...redeemed, purchaseToken }));
        const channel = open('google_play', {}, store.url);
        expect(await channel.findRefunded(products)).toEqual(['refunded', 'unknown']);
      } finally {
        await store.close();
      }
    },
  );

  test('another product in the answer is not purchased', async () => {
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
