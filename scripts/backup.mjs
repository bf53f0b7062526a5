/**
 * `npm run backup -- <folder>`: copies all data of `npm start` on this machine: databases, queues, files, keys and secrets. All of
 * it is from one moment: a running product pauses during the copy. Exit codes: 0 done, 1 failed, 64 wrong usage.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  assertDatabases,
  assertOwnData,
  copyData,
  ownData,
  readHeads,
  sealBackup,
  sizeOf,
} from './lib/backup.mjs';
import { explain } from './lib/explain.mjs';
import { Failure } from './lib/failure.mjs';
import { dataDirectory, recordFile } from './lib/paths.mjs';
import { whileStandingStill } from './lib/standstill.mjs';
import { runningSupervisor } from './lib/supervisor.mjs';
import { stopwatch } from './lib/time.mjs';

/** @param {string} target */
async function backUp(target) {
  assertOwnData('npm run backup');
  if (existsSync(target)) throw new Failure(`${target} exists already: a backup overwrites nothing.`);
  if (ownData().length === 0) throw new Failure(`There is nothing to back up in ${dataDirectory}.`);
  assertDatabases();
  const isRunning = runningSupervisor(recordFile) !== undefined;
  if (isRunning)
    console.log(
      'Gateway, services, MongoDB, Redis and RabbitMQ stop for the copy. Requests are refused meanwhile.',
    );
  // Read before the product stops. A chain only grows, so the backup contains this head.
  const heads = isRunning ? await readHeads() : {};
  const stood = stopwatch();
  const copied = await whileStandingStill(() => copyData(target, heads));
  const pause = isRunning ? ` The product stood still for ${stood()}.` : '';
  const manifest = await sealBackup(target, copied);
  console.log(
    `Backed up ${dataDirectory} to ${target}: ${sizeOf(manifest)}, all of ${manifest.made_at}.${pause} It has personal data and secrets.`,
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
}
