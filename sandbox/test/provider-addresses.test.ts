/** Separate addresses of the providers, for clients whose host is configurable and whose paths are fixed. */
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { KavenegarApi } from 'kavenegar';
import { PROVIDER_PORT, PROVIDERS } from '../src/providers/index.ts';
import { form, startTestSandbox, type TestSandbox } from './harness.ts';

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await startTestSandbox();
});
afterAll(() => sandbox.close());
beforeEach(() => sandbox.call('DELETE', '/_sandbox'));

const urlOf = (title: string): string => sandbox.addresses.find((each) => each.title === title)?.url ?? '';

const json = (body: unknown): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

test('all providers have different addresses', () => {
  expect(sandbox.addresses.length).toBeGreaterThanOrEqual(6);
  expect(new Set([sandbox.url, ...sandbox.addresses.map(({ url }) => url)]).size).toBe(
    sandbox.addresses.length + 1,
  );
});

test('npm start names each provider that has an address, in the same order', async () => {
  const script = new URL('../../scripts/lib/process-definitions.mjs', import.meta.url).href;
  const { emulatedProviders } = (await import(script)) as { emulatedProviders: string[] };
  expect(emulatedProviders).toEqual(sandbox.addresses.map(({ title }) => title));
});

test('the README lists the path, the address and the original of each provider', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const rows = readme.match(/^\|.*\|$/gm) ?? [];
  const missing = PROVIDERS.flatMap(({ title, prefix, originalHosts }, index) => [
    [title, `http://127.0.0.1:8090${prefix}`],
    [title, `http://127.0.0.1:${PROVIDER_PORT + index}\``, ...originalHosts],
  ]).filter((parts) => !rows.some((row) => parts.every((part) => row.includes(part))));
  expect(missing).toEqual([]);
});

describe('the paths of an address', () => {
  test('the address of Zibal opens, shows, settles and verifies a payment', async () => {
    const zibal = urlOf('Zibal');
    const order = { merchant: 'zibal', amount: 250_000, callbackUrl: 'http://shop.test/back' };
    const opened = await fetch(`${zibal}/v1/request`, json(order));
    const { trackId } = (await opened.json()) as { trackId: number };
    const page = await fetch(`${zibal}/start/${trackId}`);
    expect(page.status).toBe(200);
    const html = await page.text();
    const paths = [...html.matchAll(/(?:action|href)="(\/[^"]+)"/g)].map(([, path = '']) => path);
    expect(paths.length).toBeGreaterThanOrEqual(4);
    for (const path of paths.filter((each) => each.startsWith('/assets/'))) {
      expect((await fetch(zibal + path)).status).toBe(200);
    }
    const pay = paths.find((path) => path.endsWith('/pay')) ?? '';
    expect((await fetch(zibal + pay, { method: 'POST', redirect: 'manual' })).status).toBe(302);
    const verified = await fetch(`${zibal}/v1/verify`, json({ merchant: 'zibal', trackId }));
    expect(await verified.json()).toMatchObject({ result: 100, status: 1 });
  });

  test('the addresses of Cafe Bazaar, Myket and Google Play find a purchase', async () => {
    await sandbox.call('PUT', '/_sandbox/store/purchases/t', { product_id: 'boost_pro', state: 'purchased' });
    const bazaar = await fetch(
      `${urlOf('Cafe Bazaar')}/devapi/v2/api/validate/com.app/inapp/boost_pro/purchases/t/`,
      { headers: { 'cafebazaar-pishkhan-api-secret': 's' } },
    );
    expect(await bazaar.json()).toMatchObject({ purchaseState: 0 });
    const myket = `${urlOf('Myket')}/api/partners/applications/com.app/purchases/products/boost_pro/verify`;
    const verified = await fetch(myket, {
      ...json({ tokenId: 't' }),
      headers: { 'content-type': 'application/json', 'x-access-token': 's' },
    });
    expect(await verified.json()).toMatchObject({ purchaseState: 0 });
    const google = `${urlOf('Google Play')}/androidpublisher/v3/applications/com.app/purchases/products/boost_pro/tokens/t`;
    expect((await fetch(google)).status).toBe(401);
  });

  test('an unknown path and the path of another provider return 404', async () => {
    expect((await fetch(`${urlOf('Zibal')}/kavenegar/v1/k/sms/send.json`)).status).toBe(404);
    expect((await fetch(`${urlOf('Myket')}/v1/request`, json({}))).status).toBe(404);
  });
});

describe('the published client of Kavenegar', () => {
  type Reply = { entries: unknown; status: number; message: string };

  /** It knows one host and port 80, and sends the whole URL as to a proxy. */
  class ToSandbox extends http.Agent {
    override createConnection() {
      return connect(Number(new URL(urlOf('Kavenegar')).port), '127.0.0.1');
    }
  }
  const usual = http.globalAgent;
  beforeAll(() => {
    http.globalAgent = new ToSandbox();
  });
  afterAll(() => {
    http.globalAgent.destroy();
    http.globalAgent = usual;
  });

  const call = (
    method: 'VerifyLookup' | 'Send' | 'Status',
    fields: Record<string, string>,
    apikey = 'key',
  ): Promise<Reply> => {
    // biome-ignore lint/suspicious/noExplicitAny: its types require fields that this test leaves out
    const client = KavenegarApi({ apikey }) as any;
    return new Promise((resolve) =>
      client[method](fields, (entries: unknown, status: number, message: string) =>
        resolve({ entries, status, message }),
      ),
    );
  };
  const code = { receptor: '09121234567', token: '482913', template: 'account-deletion-en' };

  test('the published client sends a code and reads its delivery status', async () => {
    const sent = await call('VerifyLookup', code);
    expect(sent.status).toBe(200);
    expect(sent.entries).toMatchObject([{ message: 'Your code to delete the account: 482913' }]);
    const [{ messageid }] = sent.entries as [{ messageid: number }];
    const status = await call('Status', { messageid: String(messageid) });
    expect(status.entries).toMatchObject([{ messageid, status: 10 }]);
    expect((await sandbox.call('GET', '/_sandbox/sms')).json.data).toMatchObject([{ code: '482913' }]);
  });

  test('the published client sends a text', async () => {
    const sent = await call('Send', { receptor: code.receptor, message: 'hello', sender: '10004346' });
    expect(sent).toMatchObject({ status: 200, entries: [{ message: 'hello', sender: '10004346' }] });
  });

  test.each([
    [424, 'VerifyLookup', { ...code, template: 'unknown' }, 'key'],
    [412, 'Send', { receptor: code.receptor, message: 'hello', sender: '1000' }, 'key'],
    [411, 'VerifyLookup', { ...code, receptor: 'nobody' }, 'key'],
    [403, 'VerifyLookup', code, 'invalid-key'],
  ] as const)('the published client is refused with status %i by %s', async (status, method, fields, key) => {
    const refused = await call(method, fields, key);
    expect(refused).toEqual({ status, entries: null, message: expect.any(String) });
    expect((await sandbox.call('GET', '/_sandbox/sms')).json.data).toEqual([]);
  });

  test('the routes below the prefix keep working', async () => {
    const answer = await sandbox.call('POST', '/kavenegar/v1/key/verify/lookup.json', form(code));
    expect(answer.status).toBe(200);
  });
});
