import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure, Stopped } from './failure.mjs';
import { dataDirectory, recordFile } from './paths.mjs';
import { runningSupervisor, startTimeOf } from './supervisor.mjs';
import { pause } from './time.mjs';

/**
 * `npm run backup` asks a running `npm start` to pause, so that all data is from one moment. The signal announces a request, and
 * the file names the requesting process. When that process ends, even if it was killed, the product resumes.
 */
const signal = 'SIGUSR2';
const requestFile = join(dataDirectory, 'standstill.json');
const readyFile = join(dataDirectory, 'standstill.ready');

/** Exists while restored data is not yet safe to serve. `npm start` refuses to start with it. */
export const unfinishedRestore = join(dataDirectory, 'restore-unfinished');

/** Real providers would not stop either, and the sandbox has no data on disk. */
const running = ['sandbox'];

function requested() {
  try {
    const { pid, startTime } = JSON.parse(readFileSync(requestFile, 'utf8'));
    return startTimeOf(pid) === startTime;
  } catch {
    return false;
  }
}

/**
 * For `npm start`: pauses the product while a request exists.
 * @param {object} product
 * @param {import('./supervisor.mjs').Supervisor} product.supervisor
 * @param {() => boolean} product.isUp
 * @param {(line: string) => void} product.log
 * @param {(error: unknown) => void} product.fail
 */
export function standStillOnRequest({ supervisor, isUp, log, fail }) {
  let isStanding = false;
  const standStill = async () => {
    if (isStanding || !isUp() || !requested()) return;
    isStanding = true;
    try {
      log('Standing still for a backup: gateway, services and servers stop, and requests are refused.');
      const goOn = await supervisor.pauseEach(({ name }) => !running.includes(name));
      writeFileSync(readyFile, '');
      while (requested() && !supervisor.closing) await pause(50);
      await goOn();
      rmSync(readyFile, { force: true });
      log('Going on after the backup.');
    } catch (error) {
      if (!(error instanceof Stopped)) fail(error);
    } finally {
      isStanding = false;
    }
  };
  process.on(signal, () => void standStill());
}

/**
 * For `npm run backup`: runs `work` while the product is paused, then resumes a product that was running.
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function whileStandingStill(work) {
  const running = runningSupervisor(recordFile);
  if (!running) return work();
  rmSync(readyFile, { force: true });
  writeFileSync(requestFile, JSON.stringify({ pid: process.pid, startTime: startTimeOf(process.pid) }));
  try {
    process.kill(running.pid, signal);
    const deadline = Date.now() + 180_000;
    while (!existsSync(readyFile)) {
      if (!runningSupervisor(recordFile))
        throw new Failure('The product has ended meanwhile: start the backup again.');
      if (Date.now() > deadline) throw new Failure('The product does not stand still: is it still starting?');
      await pause(50);
    }
    return await work();
  } finally {
    rmSync(requestFile, { force: true });
    while (existsSync(readyFile) && runningSupervisor(recordFile)) await pause(50);
  }
}
