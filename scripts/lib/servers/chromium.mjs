import { findExecutable } from '../paths.mjs';
import { aptInstall, canInstall } from './apt.mjs';

const names = ['chromium', 'chromium-browser', 'google-chrome'];

const installed = () => process.env.TEST_CHROMIUM || names.map(findExecutable).find(Boolean);

/**
 * Finds a Chromium for the page tests, since playwright-core brings none. If there is none, it is installed from Debian's
 * packages. Returns undefined if that is impossible; the tests then name what is missing.
 * @param {Pick<import('./candidate.mjs').Context, 'supervisor' | 'logDirectory' | 'log'>} context
 * @returns {Promise<string | undefined>} its path
 */
export async function ensureChromium({ supervisor, logDirectory, log }) {
  const existing = installed();
  if (existing || !canInstall()) return existing;
  log('Chromium: installing it from the Debian packages (once)');
  await aptInstall(supervisor, ['chromium'], logDirectory);
  return installed();
}
