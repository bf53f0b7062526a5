/** A real browser for tests, without a window. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** Fails where the machine has none: scripts/lib/servers/chromium.mjs installs Debian's. */
export const startChromium = async (): Promise<Browser> => {
  const directories = (process.env.PATH ?? '').split(delimiter);
  const executablePath = directories
    .flatMap((path) => NAMES.map((name) => join(path, name)))
    .find(isExecutable);
  if (executablePath === undefined)
    throw new Error('there is no Chromium on the PATH (on Debian: apt-get install chromium)');
  // Its sandbox refuses to run as root, which containers do.
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
};

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};
