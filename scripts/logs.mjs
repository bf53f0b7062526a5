/**
 * `npm run logs`: shows the logs of `npm start` in readable form. `npm run logs -- wallet` shows those of the named processes with all their
 * replicas; servers can be named too. The command ends when the product does.
 */
import { existsSync, readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { followLogs } from './lib/logs.mjs';
import { logDirectory as directory, recordFile } from './lib/paths.mjs';
import { processes, programOf } from './lib/process-definitions.mjs';
import { runningSupervisor } from './lib/supervisor.mjs';
import { pause } from './lib/time.mjs';

const present = existsSync(directory)
  ? readdirSync(directory)
      .filter((file) => file.endsWith('.log'))
      .map((file) => basename(file, '.log'))
  : [];
const named = process.argv.slice(2);
const selected = named.length > 0 ? named : processes.map(({ name }) => name);
const names = selected.flatMap((name) => present.filter((each) => each === name || programOf(each) === name));
const unknown = named.find((name) => !present.includes(name));

if (present.length === 0 || (named.length === 0 && names.length === 0)) {
  console.error(`There are no logs of the product in ${directory}: npm start writes them.`);
  process.exitCode = 1;
} else if (unknown !== undefined) {
  console.error(`There is no log "${unknown}"; there are: ${present.join(', ')}.`);
  process.exitCode = 1;
} else {
  process.stdout.on('error', () => process.exit());
  const stop = await followLogs(directory, names, { write: (line) => console.log(line) });
  while (runningSupervisor(recordFile)) await pause(200);
  stop();
}
