/** Opens pages in a real Chromium. axe-core checks them at the widths of a phone and of a desktop. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { type Browser, chromium, type Page } from 'playwright-core';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** `TEST_CHROMIUM` is set by scripts/test.mjs. Rejects without it. */
export const launchChromium = (): Promise<Browser> => {
  const executablePath = process.env.TEST_CHROMIUM;
  if (executablePath === undefined) {
    throw new Error(
      'there is no Chromium: install it, set TEST_CHROMIUM, or run as root where apt-get is available',
    );
  }
  // Chromium refuses to run its sandbox as root. Only pages of this product are opened.
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
};

/** What keeps people from using the page: violations that axe-core finds, and content wider than the window. */
export const problemsOf = async (page: Page): Promise<string[]> => {
  await page.evaluate(await readFile(AXE, 'utf8'));
  // A string, because the code runs in the browser.
  const violations: string[] = await page.evaluate(
    `axe.run({ resultTypes: ['violations'] }).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html)))`,
  );
  const excess: number = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
  return excess > 0 ? [...violations, `the page is ${excess} px too wide`] : violations;
};
