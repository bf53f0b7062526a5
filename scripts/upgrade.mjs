/**
 * `npm run upgrade` creates the indexes and upgrades the stored data of every service, as each start does. `npm run upgrade -- wallet`
 * does so for the named services only. It may run while services of this or the previous release are running. Its exit code is that
 * of the first failure.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { dataDirectory, root } from './lib/paths.mjs';
import { processes, services } from './lib/process-definitions.mjs';

const EXIT_USAGE = 64;

const named = process.argv.slice(2);
const unknown = named.find((name) => !services.includes(name));

/** @param {string} name */
const upgrade = (name) => {
  const main = processes.find((each) => each.name === name)?.main ?? '';
  const environment = join(dataDirectory, 'environment', `${name}.env`);
  const args = [`--env-file-if-exists=${environment}`, main, 'upgrade'];
  return spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status ?? 1;
};

if (unknown === undefined) {
  for (const name of named.length > 0 ? named : services) {
    process.exitCode = upgrade(name);
    if (process.exitCode !== 0) break;
    console.log(`${name}: the stored data and the indexes are those of this release.`);
  }
} else {
  console.error(`There is no service "${unknown}"; there are: ${services.join(', ')}.`);
  process.exitCode = EXIT_USAGE;
}
