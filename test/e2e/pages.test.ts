/** Pages for people in a real Chromium: the documentation, the sandbox and the authorization server. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createOauthClient, createPkce } from '@fitness/contracts/testing/oauth-client.ts';
import { launchChromium } from '@fitness/shared/testing/chromium.ts';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { textSources } from '../../gateway/src/pages/docs/text-pages.ts';
import { openVisitor, type PageView, VIEWS, type Visitor } from './page-views.ts';
import {
  type Account,
  api,
  balanceOf,
  baseUrl,
  eventually,
  expectStatus,
  PASSWORD,
  register,
  sandbox,
  sandboxUrl,
} from './support.ts';

let browser: Browser;
/** Simulates the app that the authorization server redirects to. */
let app: Server;
beforeAll(async () => {
  app = createServer((_request, response) => response.end('back in the app')).listen(0, '127.0.0.1');
  await once(app, 'listening');
  browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  app.close();
});

let visitor: Visitor;
let context: BrowserContext;
const open = async (view: PageView): Promise<Page> => {
  visitor = await openVisitor(browser, view);
  context = visitor.context;
  return visitor.page;
};
afterEach(() => context?.close());

/** The documentation is in English only. */
const ENGLISH = VIEWS.map((view): PageView => ({ ...view, locale: 'en', direction: 'ltr' }));

describe.each(ENGLISH)('the documentation, $width px wide, $colorScheme', (view) => {
  test('the pages next to the reference are accessible', async () => {
    const page = await open(view);
    for (const path of ['/docs/errors', '/docs/events', ...textSources().map((text) => text.path)]) {
      await page.goto(`${baseUrl()}${path}`);
      await visitor.expectFine(path.slice(1).replace('/', '-'));
    }
  });

  test('the navigation and the search lead to a part of a guide by keyboard alone', async () => {
    const page = await open(view);
    await page.goto(`${baseUrl()}/docs/errors`);
    await visitor.press('nav a[href="/docs/money"]');
    expect(await page.locator('nav a[aria-current]').textContent()).toBe('Balance, deposits and withdrawals');
    await visitor.tabTo('input[name=q]');
    await page.keyboard.type('personal tokens');
    await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')]);
    await visitor.expectFine('docs-search');
    await visitor.press('a[href="/docs/sign-in#personal-tokens"]');
    expect(await page.locator(':target').textContent()).toBe('Personal tokens');
  });

  test("an operation's address leads to it, with samples in four languages that send an Idempotency-Key", async () => {
    const page = await open(view);
    const address = 'tag/payments/POST/api/v1/payments/deposit';
    await page.goto(`${baseUrl()}/docs#${address}`);
    const operation = page.locator(`[id$="${address}"]`);
    const heading = operation.locator('h3').first();
    // While its parts load, the page moves, and its address names the operation at the top of the window.
    await eventually(async () => {
      const { y = -1 } = (await heading.boundingBox()) ?? {};
      return y > 0 && y < 400 && page.url().endsWith(`#${address}`);
    });
    expect(await heading.textContent()).toContain('Start a deposit');
    const samples = ['Curl', 'Fetch', 'NSURLSession', 'OkHttp'];
    const chosen = operation.getByRole('button').filter({ hasText: new RegExp(samples.join('|')) });
    const options = page.getByRole('option');
    await chosen.click();
    await options.first().waitFor();
    expect((await options.allTextContents()).sort()).toEqual(samples);
    for (const name of samples) {
      await options.filter({ hasText: name }).click();
      await chosen.filter({ hasText: name }).waitFor();
      await operation
        .locator('pre')
        .filter({ hasText: '/payments/deposit' })
        .filter({ hasText: 'idempotency-key' })
        .waitFor();
      await chosen.click();
    }
  });

  test('the reference causes no console errors, and a demo account signs in', async () => {
    const page = await open(view);
    await page.goto(`${baseUrl()}/docs`);
    const account = page.locator('#demo button').filter({ hasText: 'athlete' });
    await account.click();
    await account.and(page.locator('[aria-pressed=true]')).waitFor();
    await page.locator('#reference h1').first().waitFor();
    const unstyled: number = await page.evaluate(
      '[...document.querySelectorAll("style")].filter(({ sheet }) => sheet === null).length',
    );
    expect([unstyled, visitor.complaints()]).toEqual([0, []]);
  });
});

describe.each(VIEWS)('in $locale, $width px wide, $colorScheme', (view) => {
  test('the sandbox page and the payment page are accessible', async () => {
    const account = await register();
    const body = { amount: 5_000 };
    const { payment_url: paymentUrl } = expectStatus(
      await api('POST', '/payments/deposit', { token: account.token, body }),
      201,
    ).body;
    await sandbox('PUT', `/store/purchases/pages-${account.id}`, {
      product_id: 'boost_pro',
      state: 'pending',
    });
    const page = await open(view);
    await page.goto(sandboxUrl());
    await page.getByText(`pages-${account.id}`, { exact: true }).waitFor();
    await visitor.expectFine('sandbox');
    await visitor.tabTo('#sms-mode-form summary');
    await page.keyboard.press('Enter');
    await visitor.type('receptor', 'nobody');
    await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')]);
    await visitor.expectRefusalInView();
    await visitor.expectFine('sandbox-refused', 422);
    await page.goto(paymentUrl);
    await visitor.expectFine('payment');
  });

  test('sign-in, refusal and consent are accessible, and usable by keyboard alone', async () => {
    const account = await register();
    const { port } = app.address() as AddressInfo;
    const redirect_uri = `http://127.0.0.1:${port}/callback`;
    const oauth = createOauthClient(baseUrl());
    const client_id = await oauth.newClient({ client_name: 'Fit Friend', redirect_uris: [redirect_uri] });
    const code_challenge = createPkce().challenge;
    const page = await open(view);
    await page.goto(
      baseUrl() + oauth.authorizeUrl({ client_id, redirect_uri, code_challenge, prompt: 'none' }),
    );
    await visitor.expectFine('oauth-leave', 400);
    await page.goto(baseUrl() + oauth.authorizeUrl({ client_id, redirect_uri, code_challenge }));
    await visitor.expectFine('oauth-login');

    const logIn = async (password: string): Promise<void> => {
      await visitor.tabTo('input[name=login]');
      await page.locator('input[name=login]').fill('');
      await page.keyboard.type(account.username);
      await page.keyboard.press('Tab');
      await page.keyboard.type(password);
      await page.keyboard.press('Enter');
    };
    await logIn('wrong');
    await visitor.expectRefusalInView();
    await visitor.expectFine('oauth-login-refused', 422);

    await logIn(PASSWORD);
    await page.locator('ul.cannot').waitFor();
    await visitor.expectFine('oauth-consent');
    await visitor.tabTo('button[value=allow]');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/callback\?/);
    expect(new URL(page.url()).searchParams.get('code')).toMatch(/./);
  });
});

describe('the sandbox page', () => {
  const [view] = VIEWS;

  test('the sandbox page shows an SMS without a reload', async () => {
    const account: Account = await register();
    const page = await open(view);
    await page.goto(sandboxUrl());
    await page.getByText('as they arrive').waitFor();
    const body = { current_password: PASSWORD };
    expectStatus(await api('POST', '/auth/delete-account', { token: account.token, body }), 200);
    await page.locator('#sms-list').getByText(account.phone).waitFor();
    expect(await page.locator('#news').textContent()).toContain(account.phone);
  });

  test('the rest of a list stays open while new items arrive', async () => {
    const { phone } = await register();
    const sendSms = (code: string) => {
      const body = new URLSearchParams({ receptor: phone, message: `code ${code}` });
      return fetch(`${sandboxUrl()}/kavenegar/v1/k/sms/send.json`, { method: 'POST', body });
    };
    for (const code of ['123451', '123452', '123453', '123454']) await sendSms(code);
    const page = await open(view);
    await page.goto(sandboxUrl());
    await page.getByText('as they arrive').waitFor();
    await page.locator('#sms-list-more summary').click();
    await page.locator('#sms-list-more').getByText('123451', { exact: true }).waitFor();
    await sendSms('123459');
    await page.locator('#sms-list').getByText('123459', { exact: true }).waitFor();
    expect(await page.locator('#sms-list-more').getByText('123451', { exact: true }).isVisible()).toBe(true);
  });

  test('the sandbox page pays a deposit and then shows it as verified', async () => {
    const account = await register();
    const options = { token: account.token, body: { amount: 7_000 } };
    const { payment_url: url } = expectStatus(await api('POST', '/payments/deposit', options), 201).body;
    const trackId = String(url).split('/').at(-1);
    const page = await open(view);
    await page.goto(sandboxUrl());
    const shop = context.waitForEvent('page');
    await page.locator(`#pay-${trackId}`).click();
    await (await shop).waitForLoadState();
    const item = page.locator('#payment-list li').filter({ hasText: trackId ?? '' });
    await item.getByText('paid and verified').waitFor();
    expect(await balanceOf(account.token)).toBe(7_000);
  });

  test('the sandbox page makes a purchase whose copied token can be redeemed', async () => {
    const account = await register();
    const page = await open(view);
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: sandboxUrl() });
    await page.goto(sandboxUrl());
    const form = page
      .locator('form')
      .filter({ has: page.locator('input[value=premium_plus]') })
      .first();
    await form.getByRole('button', { name: 'Buy' }).click();
    await page.waitForURL(/#purchases$/);
    await page
      .getByRole('button', { name: /^Copy:/ })
      .first()
      .click();
    await page.getByText('Copied').first().waitFor();
    const purchase_token = await page.evaluate<string>('navigator.clipboard.readText()');
    const body = { channel: 'cafebazaar', product_id: 'premium_plus', purchase_token };
    const redeemed = await api('POST', '/payments/store-purchases', { token: account.token, body });
    expect(redeemed.status).toBe(201);
    const item = page.locator('#purchase-list li').filter({ hasText: purchase_token });
    await item.locator('summary').click();
    await item.getByText('1', { exact: true }).waitFor();
  });
});
