/** The page at the root, its forms, and what it allows a browser to do. */
import { eventually } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { PAUSE_MS } from '../src/pages/changes.ts';
import en from '../src/pages/texts/en.json' with { type: 'json' };
import fa from '../src/pages/texts/fa.json' with { type: 'json' };
import { PRODUCTS, PURCHASE_STATES } from '../src/state.ts';
import { form, pause, startTestSandbox, type TestSandbox } from './harness.ts';

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await startTestSandbox();
});
afterAll(() => sandbox.close());
beforeEach(() => sandbox.call('DELETE', '/_sandbox'));

const home = (query = '', headers: Record<string, string> = {}) =>
  sandbox.call('GET', `/${query}`, undefined, { headers });
const submit = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  sandbox.call('POST', path, form(fields), { headers });
const openPayment = async (fields: Record<string, unknown> = {}): Promise<number> => {
  const request = { merchant: 'zibal', amount: 50_000, callbackUrl: 'http://shop.test/back', ...fields };
  return (await sandbox.call('POST', '/zibal/v1/request', request)).json.trackId;
};
const sendSms = (message: string) =>
  sandbox.call('POST', '/kavenegar/v1/k/sms/send.json', form({ receptor: '09121234567', message }));

/** Every element is closed where it was opened. */
const assertBalanced = (html: string): void => {
  const open: string[] = [];
  for (const [, slash, name = ''] of html.matchAll(/<(\/?)([a-z][a-z0-9]*)\b[^>]*>/g)) {
    if (/^(?:meta|link|input|br)$/.test(name)) continue;
    if (slash === '') open.push(name);
    else expect(open.pop()).toBe(name);
  }
  expect(open).toEqual([]);
};

describe.each([
  ['en', 'ltr', 'SMS inbox', 'None yet.'],
  ['fa', 'rtl', 'صندوق پیامک', 'هنوز چیزی نیست.'],
])('the page in %s', (locale, direction, title, none) => {
  test('the language is chosen by the browser or by a link', async () => {
    const byBrowser = await home('', { 'accept-language': `${locale}, xx;q=0.5` });
    const byLink = await home(`?lang=${locale}`, { 'accept-language': 'xx' });
    for (const { text, headers } of [byBrowser, byLink]) {
      expect(text).toContain(`<html lang="${locale}" dir="${direction}">`);
      expect(text).toContain(title);
      expect(headers.get('content-language')).toBe(locale);
    }
  });

  test('an empty list says that it has nothing yet', async () => {
    expect((await home(`?lang=${locale}`)).text.split(none)).toHaveLength(6);
  });

  test('the page is well-formed and its forms have labels, with and without content', async () => {
    const pages = [await home(`?lang=${locale}`)];
    await sendSms('code 778899');
    const trackId = await openPayment();
    await sandbox.call('PUT', '/_sandbox/store/purchases/t', { product_id: 'boost_pro', state: 'slow' });
    await sandbox.call('PUT', '/_sandbox/sms/mode', { mode: 'refuse', receptor: '09121234567' });
    pages.push(await home(`?lang=${locale}`));
    pages.push(await sandbox.call('GET', `/zibal/start/${trackId}?lang=${locale}`));
    for (const { text } of pages) {
      assertBalanced(text);
      const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
      expect(new Set(ids).size).toBe(ids.length);
      for (const [select] of text.matchAll(/<select[^>]*>/g)) expect(select).toContain('aria-label="');
    }
  });
});

test('a text has the same parameters in both languages', () => {
  const parametersOf = (texts: object): string[][] =>
    Object.values(texts).flatMap((text: string | object) =>
      typeof text === 'object' ? parametersOf(text) : [(text.match(/\{\w*\}?/g) ?? []).sort()],
    );
  expect(parametersOf(fa)).toEqual(parametersOf(en));
});

describe('the order of the page', () => {
  test('payments and purchases come before the inboxes', async () => {
    const { text } = await home();
    const sections = [...text.matchAll(/<section class="card" id="([^"]+)"/g)].map(([, id]) => id);
    expect(sections).toEqual(['payments', 'purchases', 'sms', 'emails', 'push', 'forget']);
  });

  test('a list shows its three newest items, and the others after a click', async () => {
    for (const code of ['100001', '100002', '100003', '100004', '100005']) await sendSms(`code ${code}`);
    const { text } = await home();
    const [, list = ''] = /<div id="sms-list" data-live>([\s\S]*?)<\/section>/.exec(text) ?? [];
    const [first = '', rest = ''] = list.split('<details id="sms-list-more"><summary>2 more</summary>');
    const codesIn = (part: string) => [...part.matchAll(/large">(\d+)</g)].map(([, code]) => code);
    expect(codesIn(first)).toEqual(['100005', '100004', '100003']);
    expect(codesIn(rest)).toEqual(['100002', '100001']);
  });
});

describe('content security', () => {
  test('a browser runs only the script file of the sandbox, no inline script or style', async () => {
    const { text, headers } = await home();
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'; style-src 'self'; ");
    expect(policy).toContain("; script-src 'self'; connect-src 'self'; ");
    expect(policy).not.toContain('unsafe');
    const [script, ...others] = [...text.matchAll(/<script[^>]*src="([^"]+)"[^>]*><\/script>/g)];
    expect(others).toEqual([]);
    expect(text.match(/<script/g)).toHaveLength(1);
    expect(text).not.toMatch(/<style|\sstyle=|\son\w+=/);
    const file = await sandbox.call('GET', script?.[1] ?? '');
    expect(file.headers.get('content-type')).toContain('text/javascript');
  });

  test('the payment page has no scripts, and its forms lead to itself and to the shop only', async () => {
    const trackId = await openPayment({ callbackUrl: 'https://shop.test:8443/back?x=1' });
    const { headers, text } = await sandbox.call('GET', `/zibal/start/${trackId}`);
    const policy = headers.get('content-security-policy');
    expect(policy).toContain("; form-action 'self' https://shop.test:8443; ");
    expect(policy).not.toContain('script-src');
    expect(text).not.toContain('<script');
  });

  test('the payment page begins with the emulator notice, and has one main button and a language link', async () => {
    const trackId = await openPayment({});
    const { text } = await sandbox.call('GET', `/zibal/start/${trackId}`);
    const [, body = ''] = text.split('</header>');
    expect(body.trim()).toMatch(
      /^<section class="card">\s*<p class="notice waiting">This payment gateway is an emulator\./,
    );
    expect(body).toMatch(
      new RegExp(
        `<div class="row actions"><button id="pay-${trackId}"[^>]*>Pay</button>\\s*<button id="cancel-`,
      ),
    );
    expect(text).toContain('<a href="?lang=fa" lang="fa"');
  });

  test('all received content is escaped', async () => {
    await sendSms('<script>alert("1")</script> code 778899');
    const trackId = await openPayment({ orderId: '<i>' });
    await sandbox.call('PUT', '/_sandbox/store/purchases/tok%3Cb%3E', {
      product_id: 'p&q',
      state: 'pending',
    });
    const { text } = await home();
    expect(text).not.toMatch(/<script>|<i>|tok<b>/);
    for (const shown of [
      '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; code 778899',
      '>778899<',
      '+989121234567',
      `href="/zibal/start/${trackId}"`,
      `action="/_sandbox/zibal/${trackId}/pay"`,
      `action="/_sandbox/zibal/${trackId}/cancel"`,
      '50,000\u00a0Rial (5,000\u00a0Tooman)',
      'tok&lt;b&gt;',
      'p&amp;q',
    ]) {
      expect(text).toContain(shown);
    }
  });
});

describe('the forms without a script', () => {
  test('each product and state has a button that makes a purchase, whose token the page shows', async () => {
    const { text } = await home('?lang=fa');
    const forms = [
      ...text.matchAll(/<form method="post" action="([^"]*\/purchases\?[^"]*)">([\s\S]*?)<\/form>/g),
    ];
    const made = [];
    for (const [, action = '', content = ''] of forms) {
      const product_id = /name="product_id" value="([^"]+)"/.exec(content)?.[1] ?? '';
      for (const [, state = ''] of content.matchAll(/<button name="state" value="([^"]+)"/g)) {
        const answer = await submit(action, { product_id, state });
        expect([answer.status, answer.headers.get('location')]).toEqual([303, '/?lang=fa#purchases']);
        made.push(`${product_id} ${state}`);
      }
    }
    expect(made).toEqual(
      PRODUCTS.flatMap((product) => PURCHASE_STATES.map((state) => `${product} ${state}`)),
    );
    const tokens = [...(await home()).text.matchAll(/data-copy="([^"]+)"/g)].map(([, token = '']) => token);
    expect(new Set(tokens).size).toBe(made.length);
    // The newest is first. Its state is the last one of the list, which returns a valid purchase after a delay.
    const [slow = ''] = tokens;
    const product = `/myket/api/partners/applications/p/purchases/products/${PRODUCTS.at(-1)}/verify`;
    const headers = { 'x-access-token': 's' };
    const verified = await sandbox.call('POST', product, { tokenId: slow }, { headers });
    expect(verified.json).toMatchObject({ purchaseState: 0 });
  });

  test('a purchase keeps its token when its state is changed', async () => {
    await submit('/_sandbox/page/purchases', { product_id: 'boost_pro', state: 'purchased' });
    const [, token = ''] = /data-copy="([^"]+)"/.exec((await home()).text) ?? [];
    await submit('/_sandbox/page/purchases', { product_id: 'boost_pro', state: 'refunded', token });
    const { text } = await home();
    expect([...text.matchAll(/data-copy="([^"]+)"/g)].map(([, each]) => each)).toEqual([token]);
    expect(text).toContain('<span class="badge">refunded</span>');
  });

  test('the SMS provider and the payment gateway can be made to fail and to work again', async () => {
    await submit('/_sandbox/page/sms-mode', { mode: 'refuse', receptor: '' });
    expect((await sendSms('x')).status).toBe(411);
    await submit('/_sandbox/page/sms-mode', { mode: 'ok', receptor: '0912 123 4567' });
    expect((await sendSms('x')).status).toBe(200);
    const { text } = await home();
    expect(text).toContain('<option value="refuse" selected>');
    expect(text).toMatch(/only \+989121234567<\/bdi>: works/);
    await submit('/_sandbox/page/zibal-mode', { mode: 'unreachable' });
    await expect(openPayment()).rejects.toThrow('fetch failed');
    await submit('/_sandbox/page/zibal-mode', { mode: 'ok' });
    expect(await openPayment()).toEqual(expect.any(Number));
    await submit('/_sandbox/page/forget', {});
    expect((await home()).text.split('None yet.')).toHaveLength(6);
  });

  test('the page names the mistake in a rejected form, and nothing changes', async () => {
    const wrong = await submit('/_sandbox/page/sms-mode?lang=fa', { mode: 'refuse', receptor: 'nobody' });
    expect(wrong.status).toBe(422);
    expect(wrong.text).toContain(
      '<p class="problem" id="receptor-problem">شمارهٔ موبایل را درست وارد کنید.</p>',
    );
    expect(wrong.text).toMatch(
      /<input name="receptor"[^>]* value="nobody"[^>]* aria-describedby="receptor-problem" autofocus>/,
    );
    expect(wrong.text).toContain('<option value="refuse" selected>');
    const other = await submit('/_sandbox/page/zibal-mode', { mode: 'loud' });
    expect([other.status, other.text.match(/autofocus/g)]).toEqual([422, ['autofocus']]);
    expect(other.text).toContain('role="alert" tabindex="-1" autofocus>The form was not complete.');
    expect((await submit('/_sandbox/page/purchases', { state: 'purchased' })).status).toBe(422);
    expect((await sendSms('x')).status).toBe(200);
  });

  test('a form from another site is refused', async () => {
    const headers = { 'sec-fetch-site': 'cross-site' };
    expect((await submit('/_sandbox/page/zibal-mode', { mode: 'unreachable' }, headers)).status).toBe(403);
    expect(await openPayment()).toEqual(expect.any(Number));
  });
});

test('open pages get an event for a change, few for a burst of changes, and none when the page is read', async () => {
  const stop = new AbortController();
  const answer = await fetch(`${sandbox.url}/_sandbox/page/changes`, { signal: stop.signal });
  expect(answer.headers.get('content-type')).toBe('text/event-stream');
  let received = '';
  const reading = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of answer.body ?? []) received += decoder.decode(chunk, { stream: true });
  })().catch(() => undefined);
  const count = (): number => received.split('event: change').length - 1;
  await home();
  // An event follows a change after this time.
  await pause(2 * PAUSE_MS);
  expect(count()).toBe(0);
  await sendSms('code 1234');
  await eventually(() => count() === 1);
  await Promise.all(Array.from({ length: 30 }, () => sendSms('code 1234')));
  await eventually(() => count() > 1);
  await pause(2 * PAUSE_MS);
  expect(count()).toBeLessThan(10);
  stop.abort();
  await reading;
});
