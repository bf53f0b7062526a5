/** The pages of the gateway in a real Chromium: the start page, and the deletion of an account by keyboard alone. */
import { launchChromium, problemsOf } from '@fitness/shared/testing/chromium.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';
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

const VIEWS = [
  { locale: 'en', direction: 'ltr', width: 1_280, colorScheme: 'light' },
  { locale: 'fa', direction: 'rtl', width: 1_280, colorScheme: 'dark' },
  { locale: 'en', direction: 'ltr', width: 360, colorScheme: 'dark' },
  { locale: 'fa', direction: 'rtl', width: 360, colorScheme: 'light' },
] as const;

let context: BrowserContext;
/** Violations of the content security policy are written there, as are failed requests. */
let complaints: string[];
beforeEach(() => {
  complaints = [];
});
afterEach(() => context?.close());

describe.each(VIEWS)(
  'in $locale, $width px wide, $colorScheme',
  ({ locale, direction, width, colorScheme }) => {
    let page: Page;
    beforeEach(async () => {
      // The pages have no scripts; axe-core is evaluated by the test, which needs them allowed.
      context = await browser.newContext({ locale, colorScheme, viewport: { width, height: 800 } });
      page = await context.newPage();
      page.on('console', (entry) => entry.type() === 'error' && complaints.push(entry.text()));
    });

    /** `refusal`: the status that Chromium reports for the page itself. */
    const expectFine = async (name: string, refusal?: number): Promise<void> => {
      expect(await page.locator('html').getAttribute('dir')).toBe(direction);
      expect([name, await problemsOf(page)]).toEqual([name, []]);
      expect(complaints.filter((text) => refusal === undefined || !text.includes(String(refusal)))).toEqual(
        [],
      );
      complaints = [];
      const directory = process.env.SCREENSHOTS;
      if (directory === undefined) return;
      await page.screenshot({ path: `${directory}/${name}-${locale}-${width}.png`, fullPage: true });
    };

    const tabTo = async (selector: string): Promise<void> => {
      const element = page.locator(selector).first();
      for (let steps = 0; steps < 30; steps += 1) {
        await page.keyboard.press('Tab');
        if (await element.evaluate((node) => node.matches(':focus-visible'))) return;
      }
      throw new Error(`${selector} is not reached by the keyboard`);
    };
    const type = async (name: string, text: string): Promise<void> => {
      await tabTo(`input[name=${name}]`);
      await page.keyboard.press('Control+A');
      await page.keyboard.type(text);
    };
    const press = async (selector: string): Promise<void> => {
      await tabTo(selector);
      await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')]);
    };
    const logIn = async ({ username }: Account, password = PASSWORD): Promise<void> => {
      await type('login', username);
      await type('password', password);
      await press('button[value=login]');
    };

    test('from the start page to the date of the deletion, and back', async () => {
      const account = await register();
      await page.goto(baseUrl());
      await expectFine('start');
      await press('a[href^="/account-deletion"]');
      await expectFine('account-deletion');
      await logIn(account, 'wrong');
      await page.getByRole('alert').waitFor();
      await expectFine('account-deletion-refused', 422);
      await logIn(account);
      await expectFine('account-deletion-overview');

      await type('password', PASSWORD);
      await press('button[value=send_code]');
      await expectFine('account-deletion-code');
      await type('code', 'wrong');
      await type('password', PASSWORD);
      await press('button[value=confirm]');
      await expectFine('account-deletion-wrong-code', 422);
      await type('code', await newestCode(account.phone));
      await type('password', PASSWORD);
      await press('button[value=confirm]');
      const { user } = expectStatus(await login(account.username), 200).body;
      await page.getByText(user.deletion_scheduled_at).waitFor();
      await expectFine('account-deletion-scheduled');

      await press('main section a');
      await logIn(account);
      await page.getByText(user.deletion_scheduled_at).waitFor();
      await expectFine('account-deletion-pending');
      await press('button[value=cancel]');
      await expectFine('account-deletion-cancelled');
      const restored = expectStatus(await login(account.username), 200).body;
      expect(restored.user.deletion_scheduled_at).toBeNull();
    });

    test('what blocks, and the page in the other language', async () => {
      const account = await register();
      await deposit(account.token, 5_000);
      await page.goto(`${baseUrl()}/account-deletion`);
      await logIn(account);
      await expectFine('account-deletion-blocked');
      const other = locale === 'en' ? 'fa' : 'en';
      await press(`a[lang=${other}]`);
      expect(await page.locator('html').getAttribute('lang')).toBe(other);
      expect(await problemsOf(page)).toEqual([]);
      expect((await api('GET', '/auth/me', { token: account.token })).status).toBe(200);
    });
  },
);
