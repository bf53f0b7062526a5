import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { startTimeOf } from './supervisor.mjs';
import { pause } from './time.mjs';

/**
 * Calls `onEnd` on Ctrl-C, SIGTERM or a closed terminal. Under npm, one Ctrl-C may arrive twice, so `onEnd` must
 * ignore a second call.
 * @param {(signal: NodeJS.Signals) => void} onEnd
 */
export function onEndSignal(onEnd) {
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.on(signal, onEnd);
  // Without these listeners, output to a closed terminal would end the process during its shutdown.
  process.stdout.on('error', () => {});
  process.stderr.on('error', () => {});
  void watchParent(() => onEnd('SIGTERM'));
}

/** Ends this process when npm has ended. npm cannot forward a SIGKILL. @param {() => void} onEnd */
async function watchParent(onEnd) {
  if (!process.env.npm_lifecycle_event) return;
  const npm = npmProcess();
  const startTime = startTimeOf(npm);
  if (startTime === undefined) return;
  while (startTimeOf(npm) === startTime) await pause(250);
  onEnd();
}

/** The process id of npm. Some shells remain between npm and this process. */
function npmProcess() {
  const parent = process.ppid;
  try {
    const [, script = ''] = process.argv;
    const commandLine = readFileSync(`/proc/${parent}/cmdline`, 'utf8');
    if (!commandLine.includes(basename(script))) return parent;
    const status = readFileSync(`/proc/${parent}/status`, 'utf8');
    return Number(/^PPid:\s*(\d+)/m.exec(status)?.[1] ?? parent);
  } catch {
    return parent;
  }
}
