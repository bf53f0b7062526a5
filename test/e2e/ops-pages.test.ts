/** `/ops` in a real Chromium, by keyboard alone. */
import { readFileSync } from 'node:fs';
import { launchChromium } from '@fitness/shared/testing/chromium.ts';
import { totpOf } from '@fitness/shared/testing/totp.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import sharp from 'sharp';
import {
  busyMember,
  deadLetter,
  depositsOverHours,
  disputedDeposit,
  dueRefund,
  gymWithLicense,
  lateWithdrawal,
  newOperator,
  type OpsOperator,
  pendingWithdrawal,
  uploadTrainerLicense,
} from './ops-scene.ts';
import { openVisitor, type PageView, VIEWS, type Visitor } from './page-views.ts';
import {
  administratorToken,
  api,
  baseUrl,
  eventually,
  expectStatus,
  PASSWORD,
  register,
  scheduleDeletion,
} from './support.ts';

let browser: Browser;
let operator: OpsOperator;
let letterId: string;
let gymId: number;
let userId: number;
let memberId: number;
beforeAll(async () => {
  browser = await launchChromium();
  letterId = await deadLetter();
  const size = { width: 640, height: 420, channels: 3 as const };
  const paper = sharp({ create: { ...size, background: '#f2ead2' } }).png();
  const document = (await paper.toBuffer()) as Buffer<ArrayBuffer>;
  ({ gymId } = await gymWithLicense(document));
  const person = await register();
  userId = person.id;
  await depositsOverHours(await register(), [3_000, 4_000, 5_000, 6_000]);
  await disputedDeposit(person.token);
  await scheduleDeletion(await register());
  const busy = await busyMember(await administratorToken());
  memberId = busy.id;
  await uploadTrainerLicense(busy, document);
  await dueRefund(memberId);
  await lateWithdrawal();
});
afterAll(() => browser?.close());

let visitor: Visitor;
afterEach(() => visitor?.context.close());

const open = async (view: PageView): Promise<Visitor> => {
  visitor = await openVisitor(browser, view);
  await visitor.page.goto(`${baseUrl()}/ops`);
  return visitor;
};

const logIn = async ({ page, type, press, expectFine }: Visitor, isShown: boolean): Promise<void> => {
  await type('login', operator.username);
  await type('password', PASSWORD);
  await press('button[value=login]');
  if (isShown) await expectFine('ops-login-code');
  // The step's only field has the focus.
  await page.locator('input[name=totp]:focus').waitFor();
  if (isShown) {
    await page.keyboard.type('000000');
    await press('button[value=code]');
    await expectFine('ops-login-code-refused', 422);
  }
  await page.locator('input[name=totp]:focus').waitFor();
  await page.keyboard.type(operator.recoveryCodes.pop() ?? '');
  await press('button[value=code]');
};

/** Each test has a new operator, because an account may log in ten times a minute. */
beforeEach(async () => {
  operator = await newOperator();
});

/** Code as a string, because it runs in the browser. */
const BOXES_AWAY_FROM_THEIR_NAMES = `[...document.querySelectorAll('label.row')].flatMap((label) => {
  const [box, name] = [...label.children].map((child) => child.getBoundingClientRect());
  return name.top < box.bottom ? [] : [label.textContent];
})`;

/** The pixels by which the page is wider than its window if a list has a choice as long as a sentence. */
const EXCESS_WITH_A_LONG_CHOICE = `(() => {
  document.querySelector('select').add(new Option('a choice '.repeat(30)));
  return document.documentElement.scrollWidth - innerWidth;
})()`;

/** Usernames of a table with columns that go on in a second line. */
const BROKEN_NAMES = `innerWidth < 832 ? [] : [...document.querySelectorAll('td .name a')].flatMap((name) =>
  name.getClientRects().length === 1 ? [] : [name.textContent])`;

describe.each(VIEWS)('in $locale, $width px wide, $colorScheme', (view) => {
  let withdrawalId: number;
  beforeEach(async () => {
    withdrawalId = await pendingWithdrawal();
  });

  test('every section is accessible, and a withdrawal is paid by keyboard alone', async () => {
    const { page, press, tabTo, type, expectFine } = await open(view);
    await expectFine('ops-login');
    await logIn(visitor, true);
    await page.locator('#live-status[data-live]').waitFor();
    await expectFine('ops-services');
    for (const slug of ['dead-letters', 'licenses', 'disputes', 'deletions', 'audit-log', 'users', 'roles']) {
      await press(`nav a[href^="/ops/${slug}"]`);
      await expectFine(`ops-${slug}`);
    }
    await press('#content a[href$="id=2"]');
    await expectFine('ops-role');
    expect(await page.evaluate(BOXES_AWAY_FROM_THEIR_NAMES)).toEqual([]);
    await tabTo('input[name="permission.payments.boost_all"]');
    await page.keyboard.press('Space');
    await press('button[value=change]');
    await expectFine('ops-role-change');
    await press('button[value=confirm_change]');
    await page.getByRole('status').first().waitFor();
    await expectFine('ops-role-changed');
    for (const [decision, picture] of [
      ['credited', 'ops-dispute-credit'],
      ['returned', 'ops-dispute-return'],
      ['refunded', 'ops-purchase-refund'],
    ] as const) {
      await press('nav a[href^="/ops/disputes"]');
      await press(`button[value=${decision}]`);
      await expectFine(picture);
    }
    await press('nav a[href^="/ops/users"]');
    await type('search', 'nobody-has-this-name');
    await press('button[value=search]');
    await expectFine('ops-users-none');
    await press('nav a[href^="/ops/users"]');
    await type('search', operator.email);
    await press('button[value=search]');
    await expectFine('ops-users-found');
    await page.goto(`${baseUrl()}/ops/members/${memberId}?lang=${view.locale}`);
    await expectFine('ops-member');
    await press('button[value=end_session]');
    await expectFine('ops-session-end');
    await page.goto(`${baseUrl()}/ops/members/${userId}?lang=${view.locale}`);
    await press('button[value=delete]');
    await expectFine('ops-member-delete');
    await page.goto(
      `${baseUrl()}/ops/audit-log?lang=${view.locale}&subject_type=user&subject_id=${memberId}`,
    );
    await expectFine('ops-audit-log-of-member');
    await type('from', '1405-13-40');
    await press('button[value=filter]');
    await expectFine('ops-audit-log-refused', 422);
    expect(await page.evaluate(EXCESS_WITH_A_LONG_CHOICE)).toBeLessThanOrEqual(0);
    await page.goto(`${baseUrl()}/ops/users?lang=${view.locale}&id=${userId}`);
    await expectFine('ops-user');
    await tabTo('input[name=role_2]');
    await page.keyboard.press('Space');
    await press('button[value=save_roles]');
    await expectFine('ops-user-role-change');
    await press('#content .actions a');
    await press('button[value=remove_second_factor]');
    await expectFine('ops-second-factor');
    await page.goto(`${baseUrl()}/ops/licenses?lang=${view.locale}&kind=gym&id=${gymId}`);
    expect(
      await page
        .locator('img.document')
        .evaluate((image) => (image as { naturalWidth?: number }).naturalWidth),
    ).toBe(640);
    await expectFine('ops-license');
    await press('button[value=approve]');
    await expectFine('ops-license-approve');
    await press('#content .actions a');
    await press('button[value=reject]');
    await press('button[value=confirm_reject]');
    await expectFine('ops-license-reject-refused', 422);
    await page.goto(`${baseUrl()}/ops/licenses?lang=${view.locale}&kind=trainer&id=${memberId}`);
    await expectFine('ops-license-trainer');

    await press('nav a[href^="/ops/withdrawals"]');
    await expectFine('ops-withdrawals');
    expect(await page.evaluate(BROKEN_NAMES)).toEqual([]);
    const own = `form:has(input[name=payment_id][value="${withdrawalId}"])`;
    await press(`${own} button[value=reject]`);
    await expectFine('ops-withdrawal-reject');
    await press('button[value=confirm_reject]');
    await expectFine('ops-withdrawal-reject-refused', 422);
    await press('#content .actions a');
    await press(`${own} button[value=pay]`);
    await expectFine('ops-withdrawal-pay');
    await type('reference', 'PAYA-20261126');
    await press('button[value=confirm_pay]');
    await page.getByRole('status').first().waitFor();
    await expectFine('ops-withdrawal-paid');
    const { token } = operator;
    const paid = expectStatus(await api('GET', `/payments/${withdrawalId}`, { token }), 200).body;
    expect(paid.payment.is_done).toBe(true);
  });
});

/** Performs the setup up to and including the app's code. */
const beginSetUp = async (view: PageView): Promise<Visitor> => {
  const account = await register();
  const body = { role_ids: [3] };
  expectStatus(await api('PUT', `/users/${account.id}`, { token: await administratorToken(), body }), 200);
  const { page, type, press, expectFine } = await open(view);
  await type('login', account.username);
  await type('password', PASSWORD);
  await press('button[value=login]');
  await expectFine('ops-set-up');
  const secret = (await page.locator('p .code').textContent())?.replaceAll(' ', '') ?? '';
  await type('totp', totpOf(secret, new Date()));
  return visitor;
};

test.each(VIEWS)(
  'a second factor is set up by keyboard alone in $locale, $width px wide, $colorScheme',
  async (view) => {
    const { page, press, type, expectFine } = await beginSetUp(view);
    await press('button[value=arm_second_factor]');
    await expectFine('ops-set-up-codes');
    const [code = ''] = await page.locator('li .code').allTextContents();
    await press('.actions a.button');
    await page.locator('nav a[aria-current]').waitFor();
    await press(`header a[href^="/ops/second-factor"]`);
    await expectFine('ops-second-factor-own');
    await press('button[value=replace_second_factor]');
    await expectFine('ops-second-factor-own-refused', 422);
    await type('password', PASSWORD);
    await type('totp', code);
    await press('button[value=replace_second_factor]');
    await expectFine('ops-second-factor-replaced');
  },
);

test('a double click on the last step shows recovery codes that can be copied and downloaded', async () => {
  const { page, context } = await beginSetUp(VIEWS[0]);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.locator('button[value=arm_second_factor]').dblclick();
  await page.locator('[data-copy]').click();
  await page.getByText('Copied').waitFor();
  const codes = (await page.locator('li .code').allTextContents()).join('\n');
  expect(codes).toMatch(/^(?:[A-Z2-7-]{19}\n){9}[A-Z2-7-]{19}$/);
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(codes);
  const downloads = page.waitForEvent('download');
  await page.locator('a[download]').click();
  const download = await downloads;
  expect(download.suggestedFilename()).toBe('recovery-codes.txt');
  expect(readFileSync(await download.path(), 'utf8')).toBe(codes);
});

describe('live updates', () => {
  const STREAM = '**/ops/live?*';
  const endSession = async (): Promise<void> => {
    const cookie = (await visitor.context.cookies(`${baseUrl()}/ops`)).find(({ name }) => name === 'ops');
    const token = cookie?.value.slice('user.'.length) ?? '';
    expectStatus(await api('POST', '/auth/logout', { token }), 204);
  };

  test('the services page updates itself, and other pages report that something changed', async () => {
    const { page } = await open(VIEWS[0]);
    await logIn(visitor, false);
    const status = page.locator('#live-status');
    await status.getByText('when something changes').waitFor();
    const before = await page.locator('#content').textContent();
    const another = await deadLetter();
    await eventually(async () => (await page.locator('#content').textContent()) !== before);
    await page.goto(`${baseUrl()}/ops/dead-letters`);
    await page.getByText(another).waitFor();
    await page.getByText(letterId).waitFor();
    await page.goto(`${baseUrl()}/ops/withdrawals`);
    await status.getByText('when something changes').waitFor();
    await pendingWithdrawal();
    await status.getByText('Something has changed').waitFor();
  });

  test('the tabs of a browser share one stream, each shows what has changed, and the next one gets the stream', async () => {
    const { page, context } = await open(VIEWS[0]);
    await logIn(visitor, false);
    const tabs = [page, await context.newPage(), await context.newPage(), await context.newPage()];
    const streaming = new Set<unknown>();
    context.on('request', (request) => {
      const url = request.url();
      if (url.includes('/ops/live?') && !url.includes('poll=1')) streaming.add(request.frame().page());
    });
    for (const tab of tabs) {
      await tab.goto(`${baseUrl()}/ops/withdrawals`);
      await tab.locator('#live-status').getByText('when something changes').waitFor();
    }
    expect([...streaming]).toEqual([page]);
    await pendingWithdrawal();
    for (const tab of tabs) await tab.locator('#live-status').getByText('Something has changed').waitFor();
    await page.close();
    await eventually(() => streaming.size === 2);
  });

  test('a page leaves a revoked session at once', async () => {
    const { page } = await open(VIEWS[0]);
    await logIn(visitor, false);
    await page.locator('#live-status').getByText('when something changes').waitFor();
    await endSession();
    await page.locator('button[value=login]').waitFor();
  });

  test('a page leaves a session that ended during a lost connection at the next attempt', async () => {
    const { page } = await open(VIEWS[0]);
    await logIn(visitor, false);
    await page.route(STREAM, (route) => route.abort());
    await page.goto(`${baseUrl()}/ops/withdrawals`);
    await page.locator('#live-status').getByText('The connection was lost').waitFor();
    await endSession();
    await page.unroute(STREAM);
    await page.locator('button[value=login]').waitFor();
    expect(await page.locator('#content').count()).toBe(0);
  });

  test('typed text is kept while the stream fails for other reasons than the session', async () => {
    const { page } = await open(VIEWS[0]);
    await logIn(visitor, false);
    await page.route(STREAM, (route) => route.fulfill({ status: 503 }));
    await page.goto(`${baseUrl()}/ops/audit-log`);
    const status = page.locator('#live-status');
    await status.getByText('The connection was lost').waitFor();
    const actor = page.locator('input[name=actor]');
    await actor.fill('administrator');
    await page.unroute(STREAM);
    await status.getByText('when something changes').waitFor();
    expect(await actor.inputValue()).toBe('administrator');
  });
});
