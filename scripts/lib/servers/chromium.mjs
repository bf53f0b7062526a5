import { findExecutable } from '../paths.mjs';
import { findOrInstall } from './apt.mjs';

/**
 * Finds a Chromium for the page tests, since playwright-core brings none. If there is none, it is installed from Debian's
 * packages. Returns undefined if that is impossible; the tests then name what is missing.
 * @param {import('./apt.mjs').InstallContext} context
 * @returns {Promise<string | undefined>} its path
 */
export const ensureChromium = async (context) =>
  process.env.TEST_CHROMIUM ||
  ['chromium-browser', 'google-chrome'].map(findExecutable).find(Boolean) ||
  findOrInstall(context, 'chromium');
