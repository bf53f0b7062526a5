import { findExecutable } from '../paths.mjs';
import { aptInstall, canInstall } from './apt.mjs';

const names = ['chromium', 'chromium-browser', 'google-chrome'];

const installed = () => process.env.TEST_CHROMIUM || names.map(findExecutable).find(Boolean);

/**
 * A Chromium for the tests of pages, for playwright-core, which brings none: installed from Debian's packages when there is
 * none. Undefined when that is not possible either; the tests then say what is missing.
 * @param {Pick<import('./candidate.mjs').Context, 'supervisor' | 'logDirectory' | 'log'>} context
 * @returns {Promise<string | undefined>} its path
 */
export async function ensureChromium({ supervisor, logDirectory, log }) {
  const found = installed();
  if (found || !canInstall()) return found;
  log('Chromium: installing it from the Debian packages (once)');
  await aptInstall(supervisor, ['chromium'], logDirectory);
  return installed();
}
