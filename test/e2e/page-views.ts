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

export const VIEWS = [
  { locale: 'en', direction: 'ltr', width: 1_280, colorScheme: 'light' },
  { locale: 'fa', direction: 'rtl', width: 1_280, colorScheme: 'dark' },
  { locale: 'en', direction: 'ltr', width: 360, colorScheme: 'dark' },
  { locale: 'fa', direction: 'rtl', width: 360, colorScheme: 'light' },
] as const satisfies readonly PageView[];

export interface Visitor {
  page: Page;
  context: BrowserContext;
  /**
   * No violation of axe-core or of the content security policy, and no failed request or script since the last call.
   * `name`: of its screenshot, which is taken where `SCREENSHOTS` names a directory. `refusal`: the status that Chromium
   * reports for the page itself.
   */
  expectFine(name: string, refusal?: number): Promise<void>;
  /** The refusal of a form has the focus and is in view, with its input where it has one. */
  expectRefusalInView(): Promise<void>;
  /** What the browser has complained about since the last `expectFine`. */
  complaints(): readonly string[];
  /** Presses Tab until the element has the focus, as somebody without a mouse does. */
  tabTo(selector: string): Promise<void>;
  /** Into the input of this name. */
  type(name: string, text: string): Promise<void>;
  /** A link or a button that leads to another page. */
  press(selector: string): Promise<void>;
}

/** What is read first after a refusal: the input with its reason, or the alert. True once all of it is in the window. */
const REFUSAL_IS_IN_VIEW = `(() => {
  const focused = document.activeElement;
  const reason = focused.matches('input[aria-invalid=true]')
    ? document.getElementById(focused.getAttribute('aria-describedby'))
    : focused.closest('[role=alert]');
  if (reason === null || reason.textContent.trim() === '') return false;
  return [focused, reason].every((element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;
  });
})()`;

/** Visible texts of a Persian page with a timestamp of the API or a long number in Latin digits. What is copied is marked as left to right. */
const LATIN_DATES_AND_AMOUNTS = `(() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const { textContent, parentElement } = walker.currentNode;
    if (parentElement.closest('[dir=ltr], [dir=auto], .code, code, pre, bdi, script, option') !== null) continue;
    const text = textContent.replaceAll(/\u2068[^\u2069]*\u2069/g, '');
    if (/\\d{4}-\\d\\d-\\d\\d|\\d{4,}|\\d,\\d/.test(text)) found.push(textContent.trim());
  }
  return found;
})()`;

/** Amounts and account numbers that do not fit, and facts of a phone whose label is not above their value. */
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

/** The first Tab of a page may be far from the element. */
const MAX_STEPS = 120;

export const openVisitor = async (
  browser: Browser,
  { locale, direction, width, colorScheme }: PageView,
): Promise<Visitor> => {
  const context = await browser.newContext({ locale, colorScheme, viewport: { width, height: 800 } });
  const page = await context.newPage();
  /** Violations of the content security policy are written there, as are failed requests and scripts. */
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
      expect([name, await page.evaluate<string[]>(SQUEEZED_FACTS)]).toEqual([name, []]);
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
      // The page before it has none.
      await page.locator('.problem').first().waitFor();
      await eventually(() => page.evaluate<boolean>(REFUSAL_IS_IN_VIEW));
    },
    complaints: () => complaints,
    tabTo,
    type: async (name, text) => {
      await tabTo(`input[name=${name}]`);
      await page.keyboard.press('Control+A');
      await page.keyboard.type(text);
    },
    press: async (selector) => {
      await tabTo(selector);
      await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')]);
    },
  };
};
