/** The sample app of the sandbox in a real Chromium, on the client of packages/client and the product. */
import { readFileSync } from 'node:fs';
import { launchChromium } from '@fitness/shared/testing/chromium.ts';
import { totpOf } from '@fitness/shared/testing/totp.ts';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, Locator, Page } from 'playwright-core';
import { openVisitor, type PageView, VIEWS, type Visitor } from './page-views.ts';
import {
  type Account,
  api,
  balanceOf,
  clientOf,
  deposit,
  eventually,
  expectStatus,
  login,
  PASSWORD,
  register,
  sandboxUrl,
  tokenOf,
} from './support.ts';

const PICTURE = readFileSync(new URL('../../packages/demo/pictures/back-exercises.jpg', import.meta.url));

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser?.close());

let visitor: Visitor;
let page: Page;
const open = async (view: PageView): Promise<void> => {
  visitor = await openVisitor(browser, view);
  ({ page } = visitor);
  await page.goto(`${sandboxUrl()}/app`);
  await page.locator('#guest').waitFor();
};
afterEach(() => visitor?.context.close());

const submit = (form: string): Promise<void> => page.locator(`#${form} button`).click();
const openCard = (form: string): Promise<void> =>
  page
    .locator('details')
    .filter({ has: page.locator(`#${form}`) })
    .locator('summary')
    .click();
const signIn = async ({ username }: Account, password = PASSWORD): Promise<void> => {
  await page.locator('[name=login]').fill(username);
  await page.locator('[name=password]').fill(password);
  await submit('sign-in');
};
/** Expects one error after each of these inputs, and no other. */
const expectErrorsAt = async (...names: string[]): Promise<void> => {
  const atInputs = names.map((name) => page.locator(`[name=${name}][aria-invalid] + .error`));
  for (const error of atInputs) await error.waitFor();
  expect(await page.locator('.error, [aria-invalid]').count()).toBe(2 * names.length);
};
const balance = (amount: RegExp): Promise<void> =>
  page.locator('#balance').filter({ hasText: amount }).waitFor();
const posts = (title: string): Locator => page.locator('article').filter({ hasText: title });
const isLoaded = (picture: Locator): Promise<boolean> =>
  picture.evaluate((image) => Number(Reflect.get(image, 'naturalWidth')) > 0);

const loadedPictures = async (): Promise<boolean[]> =>
  Promise.all((await page.locator('article img').all()).map(isLoaded));

const newPosts = async ({ id, token }: Account, count: number): Promise<void> => {
  for (let index = 1; index <= count; index += 1) {
    const body = {
      profile_type: 'App\\Models\\User',
      profile_id: id,
      title: `Post ${index} of ${id}`,
      content: 'Text',
    };
    expectStatus(await api('POST', '/posts', { token, body }), 201);
  }
};

describe.each(VIEWS)('in $locale, $width px wide, $colorScheme', (view) => {
  test('a member signs in, publishes a post with a picture, pays a deposit, and sees deletion blockers', async () => {
    const account = await register();
    await open(view);
    await visitor.expectFine('sample-sign-in');
    await signIn({ ...account, username: '' }, '');
    await expectErrorsAt('login', 'password');
    await signIn(account, 'wrong-password');
    await expectErrorsAt('password');
    await visitor.expectFine('sample-refused', 422);
    await signIn(account);
    await balance(/^[0۰]\s/);
    await page.locator('article').first().waitFor();
    await eventually(async () => (await loadedPictures()).every(Boolean));
    const times = await page.locator('article .quiet').allTextContents();
    expect(times.filter((time) => !/UTC|GMT|به وقت تهران/.test(time))).toEqual([]);
    await visitor.expectFine('sample-member');

    await openCard('write');
    const title = `Leg day of ${account.id}`;
    await page.locator('[name=title]').fill(title);
    await page.locator('[name=content]').fill('Squats and lunges.\nThree sets of ten.');
    await page
      .locator('[name=file]')
      .setInputFiles({ name: 'legs.jpg', mimeType: 'image/jpeg', buffer: PICTURE });
    await submit('write');
    await posts(title).waitFor();
    await eventually(() => isLoaded(posts(title).locator('img')));

    const tab = visitor.context.waitForEvent('page');
    await page.locator('[name=amount]').fill(view.locale === 'fa' ? '۵۰٬۰۰۰' : '50,000');
    await submit('deposit');
    const bank = await tab;
    await bank.locator('button[id^=pay-]').click();
    await balance(/^(?:50,000|۵۰٬۰۰۰)\s/);
    await eventually(async () => bank.isClosed());
    expect(await balanceOf(account.token)).toBe(50_000);

    await openCard('delete');
    await page.locator('[name=current_password]').fill(PASSWORD);
    await submit('delete');
    await page
      .getByRole('alert')
      .filter({ hasText: /50,000|۵۰٬۰۰۰/ })
      .waitFor();
    await visitor.expectFine('sample-blocked', 409);
  });
});

const [view] = VIEWS;

test('guests see the demo posts with their pictures', async () => {
  const { user } = expectStatus(await login('owner', 'demo-password-1'), 200).body;
  const path = `/posts?type=App\\Models\\User&item_id=${user.id}`;
  const { data } = expectStatus(await api('GET', path), 200).body;
  expect(data.map(({ title }: { title: string }) => title)).toEqual([
    'New routes on the climbing wall',
    'صبحانهٔ پیش از تمرین',
    'Three exercises for your back',
  ]);
  for (const { media } of data) {
    const picture = await fetch(`${media[0].link}?width=640`);
    expect([picture.status, picture.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
  }
});

test('a deleted account is signed out, its tokens are rejected with 401, and a later sign-in can keep it', async () => {
  const account = await register();
  await open(view);
  await signIn(account);
  await balance(/^0\s/);
  const token = await page.evaluate<string>("localStorage.getItem('token')");
  await openCard('delete');
  await page.locator('[name=current_password]').fill(PASSWORD);
  await submit('delete');
  const sms = page.locator('#sms').filter({ hasText: /\d{6}/ });
  const [code = ''] = /\d{6}/.exec((await sms.textContent()) ?? '') ?? [];
  expect(await page.locator('#deletion').textContent()).toContain('schedules the deletion');
  expect(await page.locator('#delete button').textContent()).toBe('2. Confirm the deletion');
  await page.locator('[name=confirmation_code]').fill(code);
  await submit('delete');
  await page.locator('#guest').waitFor();
  expect(await page.locator('#notice').textContent()).toMatch(
    /will be deleted on .* Until then, you can sign in/,
  );
  for (const each of [token, account.token])
    expect((await api('GET', '/auth/me', { token: each })).status).toBe(401);
  expect(await page.evaluate("localStorage.getItem('token')")).toBeNull();

  await signIn(account);
  await balance(/^0\s/);
  expect(await page.locator('#deletion').textContent()).toContain('will be deleted on');
  await submit('keep');
  await page.locator('#delete').waitFor();
  const { user } = expectStatus(await login(account.username), 200).body;
  expect(user.deletion_scheduled_at).toBeNull();
});

test('the last step of a deletion says what it does, in words and in its button', async () => {
  const account = await register();
  await open(VIEWS[1]);
  await signIn(account);
  await balance(/^۰\s/);
  await openCard('delete');
  await page.locator('[name=current_password]').fill(PASSWORD);
  await submit('delete');
  await page.locator('#sms').filter({ hasText: /\d{6}/ }).waitFor();
  await visitor.expectFine('sample-deletion');
  await page.locator('[name=confirmation_code]').fill('12345');
  await submit('delete');
  await expectErrorsAt('confirmation_code');
});

test('an account with a second factor is asked for its code below the password', async () => {
  const account = await register();
  const { token } = account;
  const begun = await api('POST', '/auth/second-factor', { token, body: { current_password: PASSWORD } });
  const totp = totpOf(expectStatus(begun, 200).body.secret, new Date());
  const armed = await api('POST', '/auth/second-factor', { token, body: { totp } });
  const { recovery_codes: recoveryCodes } = expectStatus(armed, 200).body;
  await open(view);
  await signIn(account);
  await expectErrorsAt('totp');
  await page.locator('[name=totp]').fill(recoveryCodes[0]);
  await submit('sign-in');
  await balance(/^0\s/);
});

test('a member who signs out leaves no text and no error in the forms', async () => {
  const account = await register();
  await open(view);
  await signIn(account);
  await balance(/^0\s/);
  await openCard('write');
  await page.locator('[name=title]').fill('Draft');
  await submit('write');
  await expectErrorsAt('content');
  await page.locator('#leave').click();
  await page.locator('#guest').waitFor();
  expect(await page.locator('.error, [aria-invalid]').count()).toBe(0);
  expect(await page.locator('[name=title]').inputValue()).toBe('');
});

test('a session that ended elsewhere leads back to the sign-in', async () => {
  const account = await register();
  await open(view);
  await signIn(account);
  await balance(/^0\s/);
  await clientOf(await page.evaluate<string>("localStorage.getItem('token')")).logout();
  await page.reload();
  await page.locator('#guest').waitFor();
  expect(await page.locator('#notice').textContent()).toContain('session has ended');
});

test('the second page of posts is fetched only when needed, and each post is shown once', async () => {
  const account = await register();
  await newPosts(account, 32);
  await open(view);
  const cursors: boolean[] = [];
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (pathname === '/api/v1/posts') cursors.push(searchParams.has('cursor'));
  });
  await signIn(account);
  const own = page.locator('article h3').filter({ hasText: new RegExp(` of ${account.id}$`) });
  for (const shown of [6, 12, 18, 24, 30]) {
    await eventually(async () => (await own.count()) === shown);
    expect(cursors).toEqual([false]);
    await page.locator('#more').click();
  }
  await eventually(async () => (await own.count()) === 32);
  expect(cursors).toEqual([false, true]);
  const titles = Array.from({ length: 32 }, (_, index) => `Post ${32 - index} of ${account.id}`);
  expect(await own.allTextContents()).toEqual(titles);
});

test('a deposit whose response was lost is repeated with the same key and made once', async () => {
  const account = await register();
  await open(view);
  await signIn(account);
  await balance(/^0\s/);
  const keys: (string | undefined)[] = [];
  await page.route('**/api/v1/payments/deposit', async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    keys.push(route.request().headers()['idempotency-key']);
    // The product has made the deposit, but the app does not see the response.
    await route.fetch();
    return keys.length <= 4 ? route.abort() : route.continue();
  });
  await submit('deposit');
  await page.getByRole('alert').filter({ hasText: 'does not answer' }).waitFor({ timeout: 30_000 });
  const tab = visitor.context.waitForEvent('page');
  await submit('deposit');
  await (await tab).locator('button[id^=pay-]').click();
  await balance(/^50,000\s/);
  expect([keys.length, new Set(keys).size]).toEqual([5, 1]);
  const { body } = expectStatus(await api('GET', '/payments?type=deposit', { token: account.token }), 200);
  expect(body.meta.total).toBe(1);
});

test('a tab that is closed without a payment leaves the balance unchanged', async () => {
  const account = await register();
  await deposit(account.token, 7_000);
  await open(view);
  await signIn(account);
  await balance(/^7,000\s/);
  const tab = visitor.context.waitForEvent('page');
  await submit('deposit');
  await (await tab).locator('button[id^=pay-]').waitFor();
  await (await tab).close();
  await page.locator('#notice').filter({ hasText: 'You have not paid.' }).waitFor();
  expect(await balanceOf(await tokenOf(account.username))).toBe(7_000);
});
