/** The tour on the start page in a real Chromium: each button gives the responses that its step promises. */
import { launchChromium } from '@fitness/shared/testing/chromium.ts';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { type OwnProduct, startOwnProduct } from './own-product.ts';
import { openVisitor, VIEWS, type Visitor } from './page-views.ts';
import { baseUrl, eventually, useProduct } from './support.ts';

let browser: Browser;
/** A separate product, because the tour advances the clock. */
let product: OwnProduct;
let leave: (() => void) | undefined;
beforeAll(async () => {
  product = await startOwnProduct(1);
  leave = useProduct(product.stack);
  browser = await launchChromium();
}, 180_000);
afterAll(async () => {
  leave?.();
  await browser?.close();
  await product?.close();
});

let visitor: Visitor;
let page: Page;
afterEach(() => visitor?.context.close());

interface Outcome {
  statuses: string[];
  /** The last JSON response. */
  answer: unknown;
}

const run = async (name: string): Promise<Outcome> => {
  const step = page.locator(`[data-step=${name}]`);
  await page.locator(`#tour-${name}`).click();
  await step.getByRole('status').filter({ hasText: /./ }).waitFor();
  expect(await step.locator('.badge.bad').count()).toBe(0);
  const answers = await step.locator('.answer').allTextContents();
  return {
    statuses: await step.locator('.badge.good').allTextContents(),
    answer: JSON.parse(answers.at(-1) ?? ''),
  };
};
const isEnabled = async (): Promise<string[]> => {
  const buttons = page.locator('#tour button:enabled');
  return buttons.evaluateAll((all) => all.map(({ id }) => id.replace('tour-', '')));
};

/** Texts next to buttons that cannot be pressed yet. */
const reasons = async (): Promise<string[]> => page.locator('[id$=-after]:visible').allTextContents();
const EN_REASONS = [2, 3, 3, 3, 5].map((step) => `Run step ${step} first.`);
const FA_REASONS = ['۲', '۳', '۳', '۳', '۵'].map((step) => `اول گام ${step} را اجرا کنید.`);

// Only two views, because the steps of the account `saver` share its five attempts a minute.
describe.each(VIEWS)('in $locale, $width px wide, $colorScheme', (view) => {
  test('the buttons of the tour give the promised responses in order', async () => {
    visitor = await openVisitor(browser, view);
    ({ page } = visitor);
    await page.goto(baseUrl());
    expect(await isEnabled()).toEqual(['blocked', 'deletion', 'erasure']);
    expect(await reasons()).toEqual(view.locale === 'en' ? EN_REASONS : FA_REASONS);

    const blocked = await run('blocked');
    expect(blocked.statuses).toEqual(['200', '409']);
    expect(blocked.answer).toMatchObject({
      code: 'account_deletion_blocked',
      blockers: [{ code: 'unsettled_balance' }, { code: 'pending_withdrawal' }],
    });
    await visitor.expectFine('start-tour-blocked', 409);

    const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    expect(await run('deletion')).toEqual({
      statuses: ['201', '200', '200', '202'],
      answer: {
        message: expect.any(String),
        deletion_requested_at: timestamp,
        deletion_scheduled_at: timestamp,
      },
    });
    await visitor.expectFine('start-tour-deletion');
    expect(await isEnabled()).toEqual(['blocked', 'deletion', 'cancellation', 'erasure']);
    expect(await reasons()).toHaveLength(4);
    expect(await page.locator('[data-step=blocked] .answer').last().isVisible()).toBe(true);

    const cancelled = await run('cancellation');
    expect(cancelled.statuses).toEqual(['200', '200']);
    expect(cancelled.answer).toMatchObject({ user: { deletion_scheduled_at: null } });
    expect(await run('deposit')).toEqual({ statuses: ['201', '200', '200'], answer: { balance: 50_000 } });
    expect(await run('purchase')).toMatchObject({
      statuses: ['200', '201', '200'],
      answer: { data: { type: 'plus' } },
    });
    // The whole step again is a replay.
    expect(await run('purchase')).toMatchObject({ statuses: ['200', '200', '200'] });
    await visitor.expectFine('start-tour-purchase');

    expect(await run('boost')).toMatchObject({
      statuses: ['201', '200', '201', '200', '200'],
      answer: { data: { boost: null } },
    });
    await page.locator('[data-step=boost]').getByText('data.boost: null', { exact: true }).waitFor();
    expect(await run('subscription')).toMatchObject({
      statuses: ['200', '200', '200'],
      answer: { user: { current_subscription: null } },
    });
    const subscription = page.locator('[data-step=subscription]');
    await subscription.getByText('user.current_subscription: null', { exact: true }).waitFor();
    await visitor.expectFine('start-tour-subscription');
    expect((await run('erasure')).statuses).toEqual(['201', '200', '200', '202', '200', '422']);
    await visitor.expectFine('start-tour-erasure', 422);
    expect(await isEnabled()).toEqual(['blocked', 'deletion', 'erasure']);

    await run('deletion');
    await eventually(async () => (await isEnabled()).join() === 'blocked,deletion,cancellation,erasure');
  });
});

test('the tour reports a sandbox that does not respond', async () => {
  visitor = await openVisitor(browser, VIEWS[0]);
  ({ page } = visitor);
  await page.goto(baseUrl());
  await page.route('**/_sandbox/**', (route) => route.abort());
  await page.locator('#tour-deletion').click();
  await page.locator('[data-step=deletion]').getByText('There was no response.').waitFor();
  expect(await isEnabled()).toEqual(['blocked', 'deletion', 'erasure']);
});

test('the page shows the requests and no buttons without scripts', async () => {
  const context = await browser.newContext({ javaScriptEnabled: false });
  try {
    const plain = await context.newPage();
    await plain.goto(baseUrl());
    expect(await plain.locator('#tour button:visible').count()).toBe(0);
    await plain.locator('[data-step=deposit] summary').click();
    await plain.getByText('POST /api/v1/payments/deposit').waitFor();
  } finally {
    await context.close();
  }
});
