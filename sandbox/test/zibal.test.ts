import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startTestSandbox, type TestSandbox } from './harness.ts';

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await startTestSandbox();
});
afterAll(() => sandbox.close());
beforeEach(() => sandbox.call('DELETE', '/_sandbox'));

const CALLBACK = 'http://127.0.0.1:8080/api/v1/payments/deposit/callback';

const request = (fields: Record<string, unknown> = {}) =>
  sandbox.call('POST', '/zibal/v1/request', {
    merchant: 'zibal',
    amount: 250_000,
    callbackUrl: CALLBACK,
    orderId: 'order-7',
    description: 'Deposit',
    ...fields,
  });
const open = async (fields: Record<string, unknown> = {}): Promise<number> =>
  (await request(fields)).json.trackId;
const verify = async (trackId: unknown, merchant = 'zibal') =>
  (await sandbox.call('POST', '/zibal/v1/verify', { merchant, trackId })).json;
const inquiry = async (trackId: unknown) =>
  (await sandbox.call('POST', '/zibal/v1/inquiry', { merchant: 'zibal', trackId })).json;
const click = (trackId: number, what: 'pay' | 'cancel') =>
  sandbox.call('POST', `/_sandbox/zibal/${trackId}/${what}`);

describe('request', () => {
  test('a request returns an integer track id, larger each time', async () => {
    const first = await request();
    expect(first.status).toBe(200);
    expect(first.json).toEqual({ trackId: expect.any(Number), result: 100, message: 'success' });
    const second = await open();
    expect(Number.isSafeInteger(second)).toBe(true);
    expect(second).toBeGreaterThan(first.json.trackId);
  });

  test('track ids keep growing after a reset', async () => {
    const before = await open();
    await sandbox.call('DELETE', '/_sandbox');
    expect(await open()).toBeGreaterThan(before);
    expect(await verify(before)).toMatchObject({ result: 203 });
  });

  test.each([
    ['no merchant', { merchant: undefined }, 102],
    ['a merchant that begins with "invalid"', { merchant: 'invalid-merchant' }, 102],
    ['an amount of 1,000 Rial', { amount: 1_000 }, 105],
    ['an amount that is not an integer', { amount: 2_000.5 }, 105],
    ['an amount at the ceiling of the card network', { merchant: 'shop-1', amount: 2_000_000_000 }, 113],
    ['an amount above the ceiling of the simulating merchant', { amount: 10_000_000_001 }, 113],
    ['a callback that is not a URL', { callbackUrl: 'callback' }, 106],
    ['a callback that is a script', { callbackUrl: 'javascript:alert(1)' }, 106],
  ])('%s is refused with HTTP 200', async (_title, fields, result) => {
    const answer = await request(fields);
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({ result, message: expect.any(String) });
  });

  test('amounts just below the limit are accepted, from any merchant and the simulating one', async () => {
    expect((await request({ merchant: 'shop-1', amount: 1_999_999_999 })).json.result).toBe(100);
    expect((await request({ amount: 5_050_000_000 })).json.result).toBe(100);
  });

  test('a body that is not a JSON object is refused', async () => {
    expect((await sandbox.call('POST', '/zibal/v1/request')).json.result).toBe(102);
    expect((await sandbox.call('POST', '/zibal/v1/request', [1])).json.result).toBe(102);
  });
});

describe("the payer's click", () => {
  test('paying leads to the callback with success 1 and status 2', async () => {
    const trackId = await open();
    const answer = await click(trackId, 'pay');
    expect(answer.status).toBe(302);
    expect(answer.headers.get('location')).toBe(
      `${CALLBACK}?trackId=${trackId}&success=1&status=2&orderId=order-7`,
    );
  });

  test('cancelling leads to the callback with success 0 and status 3', async () => {
    const trackId = await open({ orderId: undefined, callbackUrl: `${CALLBACK}?lang=fa` });
    expect((await click(trackId, 'cancel')).headers.get('location')).toBe(
      `${CALLBACK}?lang=fa&trackId=${trackId}&success=0&status=3`,
    );
  });

  test('a repeated click leads to the same callback, even after the payment was verified', async () => {
    const trackId = await open();
    const first = (await click(trackId, 'pay')).headers.get('location');
    await verify(trackId);
    expect((await click(trackId, 'pay')).headers.get('location')).toBe(first);
    expect(await inquiry(trackId)).toMatchObject({ status: 1 });
  });

  test('the other click returns 409 and changes nothing', async () => {
    const paid = await open();
    await click(paid, 'pay');
    expect((await click(paid, 'cancel')).status).toBe(409);
    expect(await verify(paid)).toMatchObject({ result: 100 });
    const cancelled = await open();
    await click(cancelled, 'cancel');
    expect((await click(cancelled, 'pay')).status).toBe(409);
    expect(await verify(cancelled)).toMatchObject({ result: 202, status: 3 });
  });

  test('a click on an unknown payment returns 404', async () => {
    expect((await click(1, 'pay')).status).toBe(404);
  });
});

describe('the payment page', () => {
  test('the payment page shows the amount and two buttons that work without a script', async () => {
    const trackId = await open({ description: '<b>Deposit & "more"</b>' });
    const page = await sandbox.call('GET', `/zibal/start/${trackId}`);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toContain('text/html');
    expect(page.text).toContain('250,000\u00a0Rial (25,000\u00a0Tooman)');
    expect(page.text).toContain('&lt;b&gt;Deposit &amp; &quot;more&quot;&lt;/b&gt;');
    expect(page.text).not.toMatch(/<script|https?:/);
    const actions = [...page.text.matchAll(/<button [^>]*formaction="([^"]+)"/g)].map((match) => match[1]);
    expect(actions).toHaveLength(2);
    const pressed = await sandbox.call('POST', actions[0] ?? '', new URLSearchParams());
    expect(pressed.status).toBe(302);
    expect(pressed.headers.get('location')).toContain('success=1');
  });

  test('the page of a completed payment has a link back instead of the forms', async () => {
    const trackId = await open();
    await click(trackId, 'cancel');
    const { text } = await sandbox.call('GET', `/zibal/start/${trackId}`);
    expect(text).not.toContain('<form');
    expect(text).toContain(`href="${CALLBACK}?trackId=${trackId}&amp;success=0`);
  });

  test('the page of an unknown payment returns 404', async () => {
    expect((await sandbox.call('GET', '/zibal/start/12')).status).toBe(404);
    expect((await sandbox.call('GET', '/zibal/start/x')).status).toBe(404);
  });
});

describe('verify and inquiry', () => {
  test('verifying an unpaid payment returns 202, and it stays waiting', async () => {
    const trackId = await open();
    expect(await verify(trackId)).toEqual({ status: -1, result: 202, message: expect.any(String) });
    expect(await inquiry(trackId)).toMatchObject({ result: 100, status: -1, paidAt: null, verifiedAt: null });
  });

  test('a paid payment is verified once, with every field', async () => {
    const trackId = await open();
    sandbox.clock.advance(60_000);
    await click(trackId, 'pay');
    const paidAt = sandbox.clock.now().toISOString().slice(0, 19);
    expect(await verify(trackId)).toEqual({
      paidAt: expect.stringContaining(paidAt),
      cardNumber: expect.stringContaining('****'),
      status: 1,
      amount: 250_000,
      refNumber: expect.any(Number),
      description: 'Deposit',
      orderId: 'order-7',
      result: 100,
      message: 'success',
    });
  });

  test('a second verification returns 201 without any of the fields', async () => {
    const trackId = await open();
    await click(trackId, 'pay');
    await verify(trackId);
    expect(await verify(trackId)).toEqual({ result: 201, message: expect.any(String) });
  });

  test('inquiry returns all fields, before and after the verification', async () => {
    const trackId = await open();
    await click(trackId, 'pay');
    expect(await inquiry(trackId)).toMatchObject({ status: 2, verifiedAt: null });
    await verify(trackId);
    const fields = 'amount cardNumber createdAt description message orderId paidAt refNumber result';
    expect(Object.keys(await inquiry(trackId)).sort()).toEqual([
      ...fields.split(' '),
      'shaparakFee',
      'status',
      'verifiedAt',
      'wage',
    ]);
    expect(await inquiry(trackId)).toMatchObject({ status: 1, amount: 250_000, orderId: 'order-7' });
  });

  test('a track id may be a numeric string', async () => {
    const trackId = await open();
    await click(trackId, 'pay');
    expect(await verify(String(trackId))).toMatchObject({ result: 100 });
  });

  test("an unknown track id and another merchant's return 203", async () => {
    const trackId = await open();
    expect(await verify(1)).toEqual({ result: 203, message: expect.any(String) });
    expect(await inquiry('abc')).toMatchObject({ result: 203 });
    expect(await verify(trackId, 'another')).toMatchObject({ result: 203 });
    expect(await verify(trackId, 'invalid')).toMatchObject({ result: 102 });
  });
});

describe('mode', () => {
  test('the mode unreachable closes every connection without a response; ok ends it', async () => {
    const trackId = await open();
    const set = await sandbox.call('PUT', '/_sandbox/zibal/mode', { mode: 'unreachable' });
    expect(set.json).toEqual({ data: { mode: 'unreachable' } });
    await expect(request()).rejects.toThrow('fetch failed');
    await expect(verify(trackId)).rejects.toThrow('fetch failed');
    await expect(inquiry(trackId)).rejects.toThrow('fetch failed');
    await expect(sandbox.call('GET', `/zibal/start/${trackId}`)).rejects.toThrow('fetch failed');
    await sandbox.call('PUT', '/_sandbox/zibal/mode', { mode: 'ok' });
    expect((await request()).json.result).toBe(100);
  });

  test('a payment can be settled while the gateway is unreachable', async () => {
    const trackId = await open();
    await sandbox.call('PUT', '/_sandbox/zibal/mode', { mode: 'unreachable' });
    expect((await click(trackId, 'pay')).status).toBe(302);
  });

  test('an unknown mode is rejected with 422 under mode', async () => {
    const answer = await sandbox.call('PUT', '/_sandbox/zibal/mode', { mode: 'slow' });
    expect(answer.status).toBe(422);
    expect(Object.keys(answer.json.errors)).toEqual(['mode']);
  });

  test('a reset makes the gateway reachable again', async () => {
    await sandbox.call('PUT', '/_sandbox/zibal/mode', { mode: 'unreachable' });
    await sandbox.call('DELETE', '/_sandbox');
    expect((await request()).json.result).toBe(100);
  });
});
