import { readFileSync, writeFileSync } from 'node:fs';
import { withProgress } from '../../packages/shared/src/kernel/progress.mjs';

const PACKAGES = 'packages';

/**
 * @typedef {object} Display
 * @property {(present: number, total: number) => void} onCount The packages are being installed.
 * @property {() => void} onInstalled The packages are installed.
 * @property {(name: string, took: string, remark: string) => void} onReady A part is ready.
 */

/**
 * Shows what `npm start` is waiting for, and how long that takes according to the last start.
 * @param {string[]} parts
 * @param {{ recordFile: string, write: (line: string) => void }} options
 * @param {(display: Display) => Promise<void>} work
 */
export async function withStartProgress(parts, { recordFile, write }, work) {
  const estimate = createEstimate(recordFile);
  const waitingFor = new Set([PACKAGES, ...parts]);
  let count = '';
  const now = () => {
    const names = [...waitingFor].map((name) => (name === PACKAGES ? name + count : name));
    return `ready, waiting for ${names.join(', ')}`;
  };
  await withProgress(
    (progress) => {
      progress.expect(waitingFor.size, now());
      const advance = (/** @type {string} */ name) => {
        waitingFor.delete(name);
        progress.advance(now());
      };
      return work({
        onCount(present, total) {
          estimate.onInstallation();
          count = ` (${present}/${total})`;
          progress.advance(now(), 0);
        },
        onInstalled() {
          estimate.onInstalled();
          advance(PACKAGES);
        },
        onReady(name, took, remark) {
          advance(name);
          write(`${name.padEnd(15)} ${took.padStart(7)}  ${remark}`);
        },
      });
    },
    { write, remainingMs: estimate.remainingMs },
  );
  estimate.record();
}

/**
 * Estimates that this start takes as long as the last one. An installation is recorded separately, because most starts install nothing.
 * @param {string} recordFile
 */
function createEstimate(recordFile) {
  const last = readRecord(recordFile);
  const startedAt = performance.now();
  const elapsedMs = () => performance.now() - startedAt;
  let isInstalling = false;
  let installedMs = 0;
  let shownMs = Number.POSITIVE_INFINITY;
  return {
    onInstallation() {
      isInstalling = true;
    },
    onInstalled() {
      if (isInstalling) installedMs = elapsedMs();
    },
    /** @returns {number | undefined} undefined without a record, or if this start takes longer than the last one */
    remainingMs() {
      const { packagesMs = Number.NaN, restMs = Number.NaN } = last;
      const leftMs = (isInstalling ? packagesMs : 0) + restMs - elapsedMs();
      if (!(leftMs >= 1_000)) return undefined;
      // An installation may begin after the first display.
      shownMs = Math.min(shownMs, leftMs);
      return shownMs;
    },
    record() {
      const restMs = elapsedMs() - installedMs;
      const packagesMs = installedMs || last.packagesMs;
      writeFileSync(recordFile, JSON.stringify({ packagesMs, restMs }));
    },
  };
}

/** @param {string} file @returns {{ packagesMs?: number, restMs?: number }} empty before the first start */
function readRecord(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return {};
  }
}
