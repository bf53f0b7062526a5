/** Pages in a real Chromium as people see them: both languages, narrow and wide, light and dark, by keyboard alone. */
import { problemsOf } from '@fitness/shared/testing/chromium.ts';
import { eventually } from '@fitness/shared/testing/harness.ts';
import { expect } from '@jest/globals';
import type { Browser, BrowserContext, Page } from 'playwright-core';

export interface PageView {
  locale: 'en' | 'fa';
  direction: 'ltr' | 'rtl';
  width: number;
  colorScheme: 'light' | 'dark';
}

/** Each page is also measured in the other width (`expectFine`). */
export const VIEWS = [
  { locale: 'en', direction: 'ltr', width: 1_280, colorScheme: 'light' },
  { locale: 'fa', direction: 'rtl', width: 360, colorScheme: 'dark' },
] as const satisfies readonly PageView[];

const HEIGHT = 800;
/** The pixels by which the page is wider than its window. */
const EXCESS_WIDTH = 'Math.max(0, document.documentElement.scrollWidth - innerWidth)';

export interface Visitor {
  page: Page;
  context: BrowserContext;
  /**
   * Expects that no axe-core rule or content security policy has been violated and no request or script has
   * failed since the last call. `name` is the name of the screenshot, which is taken if `SCREENSHOTS` is set to a
   * directory. `refusal` is the status that Chromium reports for the page itself.
   */
  expectFine(name: string, refusal?: number): Promise<void>;
  /** Expects the form's refusal to have the focus and to be in view, together with its input if it has one. */
  expectRefusalInView(): Promise<void>;
  /** Complaints of the browser since the last `expectFine`. */
  complaints(): readonly string[];
  /** Presses Tab until the element has the focus, like a user without a mouse. */
  tabTo(selector: string): Promise<void>;
  /** Types into the input with this name. */
  type(name: string, text: string): Promise<void>;
  /** Activates a link or button that leads to another page. */
  press(selector: string): Promise<void>;
}

/** The first thing to read after a refusal: the input with its reason, or the alert. True if all of it is in view. */
const REFUSAL_IS_IN_VIEW = `(() => {
  const focused = document.activeElement;
  const reason = focused.matches(':is(input, textarea)[aria-invalid=true]')
    ? document.getElementById(focused.getAttribute('aria-describedby'))
    : focused.closest('[role=alert]');
  if (reason === null || reason.textContent.trim() === '') return false;
  return [focused, reason].every((element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;
  });
})()`;

/** Visible texts of a Persian page with an API timestamp or a long number in Latin digits. Copied values are marked as left to right. */
const LATIN_DATES_AND_AMOUNTS = `(() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const matches = [];
  while (walker.nextNode()) {
    const { textContent, parentElement } = walker.currentNode;
    if (parentElement.closest('[dir=ltr], [dir=auto], .code, code, pre, bdi, script, option') !== null) continue;
    const text = textContent.replaceAll(/\u2068[^\u2069]*\u2069/g, '');
    if (/\\d{4}-\\d\\d-\\d\\d|\\d{4,}|\\d,\\d/.test(text)) matches.push(textContent.trim());
  }
  return matches;
})()`;

/** Amounts and account numbers that do not fit, and facts on a phone whose label is not above their value. */
const SQUEEZED_FACTS = `(() => {
  const boxOf = (element) => element.getBoundingClientRect();
  const cut = [...document.querySelectorAll('.whole')].filter((element) => {
    const { left, right, width } = boxOf(element);
    const card = boxOf(element.closest('.card') ?? document.body);
    return width > 0 && (left < card.left || right > card.right);
  });
  const beside = innerWidth >= 480 ? [] : [...document.querySelectorAll('.facts > dt')].filter((label) => {
    const value = label.nextElementSibling;
    return boxOf(value).height > 0 && boxOf(label).bottom > boxOf(value).top + 1;
  });
  return [...cut, ...beside].map((element) => element.textContent);
})()`;

/**
 * Timestamps that wrap inside the date or inside the time, and table buttons that need two lines in a wide
 * window. A timestamp of one part cannot wrap.
 */
const BROKEN_LINES = `(() => {
  const linesOf = (node, start, end) => {
    const range = document.createRange();
    range.setStart(node, start);
    range.setEnd(node, end);
    return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
  };
  const dates = [...document.querySelectorAll('time')].filter(({ firstChild: text }) => {
    const gap = text.data.indexOf(' ');
    const parts = gap < 0 ? [[0, text.length]] : [[0, gap], [gap + 1, text.length]];
    return parts.some(([start, end]) => linesOf(text, start, end) > 1);
  });
  const buttons = innerWidth < 1200 ? [] : [...document.querySelectorAll('td button')].filter(
    ({ firstChild: text }) => linesOf(text, 0, text.length) > 1);
  return [...dates, ...buttons].map((element) => element.textContent);
})()`;

/** The element may be far from the page's first Tab stop. */
const MAX_STEPS = 120;

export const openVisitor = async (
  browser: Browser,
  { locale, direction, width, colorScheme }: PageView,
): Promise<Visitor> => {
  const context = await browser.newContext({ locale, colorScheme, viewport: { width, height: HEIGHT } });
  const page = await context.newPage();
  /** Console errors: violations of the content security policy, failed requests and failed scripts. */
  let complaints: string[] = [];
  page.on('console', (entry) => entry.type() === 'error' && complaints.push(entry.text()));
  page.on('pageerror', (error) => complaints.push(error.message));

  const tabTo: Visitor['tabTo'] = async (selector) => {
    const element = page.locator(selector).first();
    for (let steps = 0; steps < MAX_STEPS; steps += 1) {
      if (await element.evaluate((node) => node.matches(':focus-visible'))) return;
      await page.keyboard.press('Tab');
    }
    throw new Error(`${selector} is not reached by the keyboard`);
  };
  return {
    page,
    context,
    expectFine: async (name, refusal) => {
      expect(await page.locator('html').getAttribute('dir')).toBe(direction);
      expect([name, await problemsOf(page)]).toEqual([name, []]);
      for (const each of [
        ...VIEWS.map((view): number => view.width).filter((other) => other !== width),
        width,
      ]) {
        await page.setViewportSize({ width: each, height: HEIGHT });
        expect([name, each, await page.evaluate<string[]>(SQUEEZED_FACTS)]).toEqual([name, each, []]);
        expect([name, each, await page.evaluate<string[]>(BROKEN_LINES)]).toEqual([name, each, []]);
        expect([name, each, await page.evaluate<number>(EXCESS_WIDTH)]).toEqual([name, each, 0]);
      }
      if (locale === 'fa') {
        const latin = await page.evaluate<string[]>(LATIN_DATES_AND_AMOUNTS);
        expect([name, latin]).toEqual([name, []]);
      }
      const others = complaints.filter((text) => refusal === undefined || !text.includes(String(refusal)));
      expect([name, others]).toEqual([name, []]);
      complaints = [];
      const directory = process.env.SCREENSHOTS;
      if (directory === undefined) return;
      await page.screenshot({ path: `${directory}/${name}-${locale}-${width}.png`, fullPage: true });
    },
    expectRefusalInView: async () => {
      // The previous page has no refusal.
      await page.locator('.problem').first().waitFor();
      await eventually(() => page.evaluate<boolean>(REFUSAL_IS_IN_VIEW));
    },
    complaints: () => complaints,
    tabTo,
    type: async (name, text) => {
      await tabTo(`:is(input, textarea)[name=${name}]`);
      await page.keyboard.press('Control+A');
      await page.keyboard.type(text);
    },
    press: async (selector) => {
      await tabTo(selector);
      await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')]);
    },
  };
};
