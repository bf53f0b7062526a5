/** The documentation site in a real Chromium: every page, the navigation and the search, by keyboard alone. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { launchChromium, problemsOf } from '@fitness/shared/testing/chromium.ts';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { freePorts } from '../../scripts/lib/ports.mjs';
import { openVisitor, type PageView, VIEWS, type Visitor } from './page-views.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

let server: ChildProcess;
let address: string;
let browser: Browser;
beforeAll(async () => {
  const [port] = await freePorts(1);
  server = spawn(process.execPath, ['scripts/docs.mjs'], {
    cwd: root,
    env: { ...process.env, DOCS_PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (server.stdout === null) throw new Error('it has no output');
  for await (const line of createInterface(server.stdout)) {
    address = /http:\/\/[\d.:]+/.exec(line)?.[0] ?? line;
    break;
  }
  browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  server.kill();
});

let visitor: Visitor;
/** URLs of requests to other origins than the site's. */
let elsewhere: string[];
const open = async (view: PageView): Promise<Page> => {
  visitor = await openVisitor(browser, view);
  elsewhere = [];
  visitor.page.on('request', (request) => {
    if (!request.url().startsWith(`${address}/`)) elsewhere.push(request.url());
  });
  return visitor.page;
};
afterEach(async () => {
  await visitor.context.close();
  expect(elsewhere).toEqual([]);
});

/** The site is in English only. */
const ENGLISH = VIEWS.map((view): PageView => ({ ...view, locale: 'en', direction: 'ltr' }));

const PAGES = {
  'docs-site-start': '/',
  'docs-site-guide': '/docs/guides/operators/cases.html',
  'docs-site-decisions': '/docs/adr/index.html',
  'docs-site-decision': '/docs/adr/0086-notification-channels.html',
  'docs-site-performance': '/docs/performance.html',
};

describe.each(ENGLISH)('$width px wide, $colorScheme', (view) => {
  test('a page of each kind is accessible', async () => {
    const page = await open(view);
    for (const [name, path] of Object.entries(PAGES)) {
      await page.goto(`${address}${path}`);
      await visitor.expectFine(name);
    }
  });

  test('the navigation leads to another document, and can be skipped to the content', async () => {
    const page = await open(view);
    await page.goto(`${address}/`);
    await page.keyboard.press('Tab');
    expect(await page.locator('.skip').evaluate((link) => link.matches(':focus-visible'))).toBe(true);
    await visitor.expectFine('docs-site-skip');
    const summary = page.locator('nav summary');
    // A wide window always shows the documents.
    if (await summary.isVisible()) {
      expect(await page.locator('nav a').first().isVisible()).toBe(false);
      await visitor.tabTo('nav summary');
      await page.keyboard.press('Enter');
      await visitor.expectFine('docs-site-navigation');
    }
    await visitor.press('nav a[href$="docs/security.html"]');
    expect(await page.locator('nav a[aria-current]').textContent()).toBe('Security');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await page.locator('main :focus').count()).toBe(1);
  });

  test('the search finds headings and closes after use', async () => {
    const page = await open(view);
    await page.goto(`${address}/`);
    const results = page.locator('#results');
    await visitor.tabTo('#search');
    await page.keyboard.type('withdraw');
    await results.locator('a').first().waitFor();
    await visitor.expectFine('docs-site-search');
    await visitor.press('#results a[href$="cases.html#withdrawals"]');
    expect(await page.locator(':target').textContent()).toBe('Withdrawals');

    await page.locator('#search').focus();
    await page.keyboard.type('licenses');
    // This page loads the index again. Results stay closed after the focus has left the search.
    await results.locator('a').first().waitFor();
    await visitor.tabTo('#results a[href$="cases.html#licenses"]');
    await page.keyboard.press('Enter');
    await page.locator('#licenses:target').waitFor();
    await results.waitFor({ state: 'hidden' });

    await page.locator('#search').fill('qqqqq');
    await results.getByText('Nothing found').waitFor();
    await visitor.expectFine('docs-site-nothing-found');
    await page.keyboard.press('Escape');
    await results.waitFor({ state: 'hidden' });
    expect(await page.locator('#search').inputValue()).toBe('');

    await page.keyboard.type('Secrets and keys');
    await Promise.all([page.waitForURL('**/keys.html*'), page.keyboard.press('Enter')]);
    await page.locator('#search').fill('keys');
    await results.locator('a').first().waitFor();
    await page.keyboard.press('Shift+Tab');
    await results.waitFor({ state: 'hidden' });
  });
});

test('every page is accessible and fits on a phone', async () => {
  const narrow = ENGLISH.find(({ width }) => width === 360);
  if (narrow === undefined) throw new Error('no view is narrow');
  const page = await open(narrow);
  await page.goto(`${address}/`);
  const links: string[] = await page
    .locator('nav a')
    .evaluateAll((anchors) => anchors.map((anchor) => String(Reflect.get(anchor, 'href'))));
  expect(links.length).toBeGreaterThan(30);
  for (const link of links) {
    await page.goto(link);
    expect([link, await problemsOf(page), visitor.complaints()]).toEqual([link, [], []]);
  }
});
