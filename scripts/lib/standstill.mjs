import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure, Stopped } from './failure.mjs';
import { dataDirectory, recordFile } from './paths.mjs';
import { claimRecord, endLeftovers, runningChildren, runningSupervisor } from './supervisor.mjs';
import { pause } from './time.mjs';

/**
 * Names the process that starts, backs up or restores the product. Only one does at a time. The claim ends with its process, even if
 * that was killed. The signal asks a running `npm start` to stand still until `npm run backup` has copied, or its claim has ended.
 */
const claimFile = join(dataDirectory, 'standstill.json');
const signal = 'SIGUSR2';
/** Has the id of the process for which the product stands still, then `COPIED`. It is removed when the product has gone on. */
const readyFile = join(dataDirectory, 'standstill.ready');
const COPIED = 'copied';

/** Exists while restored data is not yet safe to serve. `npm start` refuses to start with it. */
export const unfinishedRestore = join(dataDirectory, 'restore-unfinished');

/** Real providers would not stop either, and the sandbox has no data on disk. */
const running = ['sandbox'];

const claimant = () => runningSupervisor(claimFile)?.pid;

/** @param {number} pid */
function standsStillFor(pid) {
  try {
    return readFileSync(readyFile, 'utf8') === String(pid);
  } catch {
    return false;
  }
}

/** Throws while another process has the claim. */
export async function claimData() {
  while (!claimRecord(claimFile)) {
    const other = claimant();
    if (other)
      throw new Failure(
        `Process ${other} is starting, backing up or restoring the product: try again when it has ended.`,
      );
    await endLeftovers(claimFile);
  }
}

/** Ends the claim of this process before its end. */
export const releaseData = () => rmSync(claimFile, { force: true });

/** Throws if a part of the product runs. After a kill of `npm start`, its processes and servers go on. */
export function assertStandsStill() {
  const awake = runningChildren(recordFile).filter(({ name }) => !running.includes(name));
  if (awake.length === 0) return;
  const names = awake.map(({ name }) => name).join(', ');
  const pids = awake.map(({ pid }) => pid).join(' ');
  throw new Failure(
    `Parts of the product run without npm start: ${names}. End them first, with \`kill ${pids}\`.`,
  );
}

/**
 * For `npm start`: pauses the product while `npm run backup` has the claim.
 * @param {object} product
 * @param {import('./supervisor.mjs').Supervisor} product.supervisor
 * @param {() => boolean} product.isUp
 * @param {(line: string) => void} product.log
 * @param {(error: unknown) => void} product.fail
 */
export function standStillOnRequest({ supervisor, isUp, log, fail }) {
  let isStanding = false;
  const standStill = async () => {
    const pid = claimant();
    if (isStanding || !isUp() || pid === undefined) return;
    isStanding = true;
    try {
      log('Standing still for a backup: gateway, services and servers stop, and requests are refused.');
      const goOn = await supervisor.pauseEach(({ name }) => !running.includes(name));
      writeFileSync(readyFile, String(pid));
      while (claimant() === pid && standsStillFor(pid) && !supervisor.closing) await pause(50);
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
 * For `npm run backup`, which has the claim: runs `work` while the product is paused, then resumes a product that was running.
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function whileStandingStill(work) {
  const running = runningSupervisor(recordFile);
  try {
    if (running) await untilReady(running.pid);
    assertStandsStill();
    const done = await work();
    // A part that had just ended may have been started again.
    assertStandsStill();
    return done;
  } finally {
    if (running && standsStillFor(process.pid)) {
      writeFileSync(readyFile, COPIED);
      while (existsSync(readyFile) && runningSupervisor(recordFile)) await pause(50);
    }
  }
}

/** @param {number} product */
async function untilReady(product) {
  const deadline = Date.now() + 180_000;
  while (!standsStillFor(process.pid)) {
    if (runningSupervisor(recordFile)?.pid !== product)
      throw new Failure('The product has ended meanwhile: start the backup again.');
    // Again and again: it may still be going on after another backup.
    process.kill(product, signal);
    if (Date.now() > deadline) throw new Failure('The product does not stand still.');
    await pause(50);
  }
}
