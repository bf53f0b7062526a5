import { pause } from './time.mjs';

/**
 * Ctrl-C, a polite kill, or a closed terminal. Under npm the same Ctrl-C may arrive twice, so that a second
 * signal means nothing new.
 * @param {() => void} onEnd
 */
export function onEndSignal(onEnd) {
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.on(signal, onEnd);
  // A closed terminal must not stop the stopping.
  process.stdout.on('error', () => {});
  process.stderr.on('error', () => {});
  void watchParent(onEnd);
}

/**
 * npm cannot pass on the signal that kills it at once; without npm nobody could end what runs here.
 * @param {() => void} onEnd
 */
async function watchParent(onEnd) {
  const parent = process.ppid;
  if (!process.env.npm_lifecycle_event) return;
  while (process.ppid === parent) await pause(500);
  onEnd();
}
