import { findExecutable } from '../paths.mjs';
import { aptInstall, canInstall } from './apt.mjs';

const names = ['chromium', 'chromium-browser', 'google-chrome'];

/**
 * Installs Debian's Chromium where the machine has no such browser and apt-get can install it. Tests find it on the PATH.
 * @param {{ supervisor: import('../supervisor.mjs').Supervisor, logDirectory: string, log: (line: string) => void }} context
 */
export async function ensureChromium({ supervisor, logDirectory, log }) {
  if (names.some((name) => findExecutable(name) !== undefined)) return;
  if (!canInstall())
    return log('there is no Chromium: tests in a browser will fail (on Debian: apt-get install chromium)');
  log('Chromium: installing it with apt-get (once)');
  if (await aptInstall(supervisor, ['chromium'], logDirectory)) return;
  log('apt-get could not install Chromium: tests in a browser will fail');
}
