/**
 * `npm run backup -- <folder>`: copies all data of `npm start` on this machine: databases, queues, files, keys and secrets. All of
 * it is from one moment: a running product pauses during the copy. Exit codes: 0 done, 1 failed, 64 wrong usage.
 */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { markJournals } from '../packages/shared/src/kernel/journal-markers.mjs';
import {
  assertDatabases,
  assertOwnData,
  copyData,
  journals,
  ownData,
  readHeads,
  sealBackup,
  sizeOf,
} from './lib/backup.mjs';
import { prepareTarget } from './lib/backup-target.mjs';
import { explain } from './lib/explain.mjs';
import { Failure, messageOf } from './lib/failure.mjs';
import { dataDirectory, recordFile } from './lib/paths.mjs';
import { onEndSignal } from './lib/signals.mjs';
import { assertStandsStill, claimData, whileStandingStill } from './lib/standstill.mjs';
import { runningSupervisor } from './lib/supervisor.mjs';
import { stopwatch } from './lib/time.mjs';

/** What can be refused is refused here, before anything stops. @param {string} target */
async function prepare(target) {
  assertOwnData('npm run backup');
  if (ownData().length === 0) throw new Failure(`There is nothing to back up in ${dataDirectory}.`);
  assertDatabases();
  await claimData();
  const isRunning = runningSupervisor(recordFile) !== undefined;
  if (!isRunning) assertStandsStill();
  process.once('exit', () => rmSync(`${target}.partial`, { recursive: true, force: true }));
  onEndSignal(() => process.exit(130));
  return { isRunning, partial: prepareTarget(target) };
}

/** Marks every journal, so a restore notices one that is empty or older than the backup. */
async function mark() {
  const id = randomUUID();
  try {
    return { id, journals: await markJournals(journals(), id) };
  } catch (error) {
    throw new Failure(
      `The journals cannot be marked, so a restore could not trust them: ${messageOf(error)}.`,
    );
  }
}

/** @param {string} target */
async function backUp(target) {
  const { isRunning, partial } = await prepare(target);
  const marks = await mark();
  if (isRunning)
    console.log(
      'Gateway, services, MongoDB, Redis and RabbitMQ stop for the copy. Requests are refused meanwhile.',
    );
  // Read before the product stops. A chain only grows, so the backup contains this head.
  const heads = isRunning ? await readHeads() : {};
  const stood = stopwatch();
  const madeAt = await whileStandingStill(() => copyData(partial));
  const pause = isRunning ? ` The product stood still for ${stood()}.` : '';
  const manifest = await sealBackup(target, { partial, madeAt, heads, ...marks });
  console.log(
    `Backed up ${dataDirectory} to ${target}: ${sizeOf(manifest)}, all of ${madeAt}.${pause} It has personal data and secrets.`,
  );
}

const [target, ...rest] = process.argv.slice(2);
if (target === undefined || rest.length > 0) {
  console.error('usage: npm run backup -- <new folder>');
  process.exitCode = 64;
} else {
  await backUp(resolve(target)).catch((error) => {
    console.error(explain('npm run backup', error));
    process.exitCode = 1;
  });
  process.exit();
}
