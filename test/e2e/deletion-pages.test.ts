/** The gateway's pages in a real Chromium: the start page, and deleting an account by keyboard alone. */
import { parseTimestamp } from '@fitness/shared/kernel/clock.ts';
import { formatInstant } from '@fitness/shared/kernel/i18n/translate.ts';
import { launchChromium, problemsOf } from '@fitness/shared/testing/chromium.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { openVisitor, VIEWS, type Visitor } from './page-views.ts';
import {
  type Account,
  api,
  baseUrl,
  deposit,
  expectStatus,
  login,
  newestCode,
  PASSWORD,
  register,
} from './support.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser?.close());

let visitor: Visitor;
afterEach(() => visitor?.context.close());

describe.each(VIEWS)('in $locale, $width px wide, $colorScheme', (view) => {
  let page: Page;
  let expectFine: Visitor['expectFine'];
  let expectRefusalInView: Visitor['expectRefusalInView'];
  let type: Visitor['type'];
  let press: Visitor['press'];
  beforeEach(async () => {
    visitor = await openVisitor(browser, view);
    ({ page, expectFine, expectRefusalInView, type, press } = visitor);
  });
  const logIn = async ({ username }: Account, password = PASSWORD): Promise<void> => {
    await type('login', username);
    await type('password', password);
    await press('button[value=login]');
  };

  test('a keyboard user schedules a deletion from the start page and cancels it', async () => {
    const account = await register();
    await page.goto(baseUrl());
    await expectFine('start');
    await press('a[href^="/account-deletion"]');
    await expectFine('account-deletion');
    await logIn(account, 'wrong');
    await expectRefusalInView();
    await expectFine('account-deletion-refused', 422);
    await logIn(account);
    await expectFine('account-deletion-overview');

    await type('password', PASSWORD);
    await press('button[value=send_code]');
    await expectFine('account-deletion-code');
    await type('code', '1');
    await press('button[value=confirm]');
    await expectRefusalInView();
    await expectFine('account-deletion-no-password', 422);
    await type('code', 'wrong');
    await type('password', PASSWORD);
    await press('button[value=confirm]');
    await expectRefusalInView();
    await expectFine('account-deletion-wrong-code', 422);
    await type('code', await newestCode(account.phone));
    await type('password', PASSWORD);
    await press('button[value=confirm]');
    const { user } = expectStatus(await login(account.username), 200).body;
    const date = formatInstant(view.locale, parseTimestamp(user.deletion_scheduled_at));
    await page.getByText(date).waitFor();
    await expectFine('account-deletion-scheduled');

    await press('main section a');
    await logIn(account);
    await page.getByText(date).waitFor();
    await expectFine('account-deletion-pending');
    await press('button[value=cancel]');
    await expectFine('account-deletion-cancelled');
    const restored = expectStatus(await login(account.username), 200).body;
    expect(restored.user.deletion_scheduled_at).toBeNull();
  });

  test('an unknown path has a link back to the start page', async () => {
    await page.goto(`${baseUrl()}/no-such-page`);
    await expectFine('not-found', 404);
    await press('main section a');
    expect(new URL(page.url()).pathname).toBe('/');
  });

  test('a blocked account sees the blockers, and can switch the language', async () => {
    const account = await register();
    await deposit(account.token, 5_000);
    await page.goto(`${baseUrl()}/account-deletion`);
    await logIn(account);
    await expectFine('account-deletion-blocked');
    const other = view.locale === 'en' ? 'fa' : 'en';
    await press(`a[lang=${other}]`);
    expect(await page.locator('html').getAttribute('lang')).toBe(other);
    expect(await problemsOf(page)).toEqual([]);
    expect((await api('GET', '/auth/me', { token: account.token })).status).toBe(200);
  });
});
