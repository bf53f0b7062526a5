/**
 * `npm run restore -- <backup> --operator <name> [--overwrite] [--without-journal]`: restores the data of `npm start` on this machine
 * from a backup. It verifies the checksums. Before a service runs, it ends every credential of the backup, repeats the erasures in
 * the journal, and restarts the grace period of pending deletions. It then verifies the ledger and the audit logs, all without the
 * gateway. Exit codes: 0 done, 1 failed, 64 wrong usage.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import {
  assertOwnData,
  journalEntries,
  journals,
  ownData,
  placeData,
  removeReplaced,
  verifyBackup,
} from './lib/backup.mjs';
import { ownEnvironment, sharedEnvironment } from './lib/environment.mjs';
import { explain } from './lib/explain.mjs';
import { Failure } from './lib/failure.mjs';
import { nodeFlags } from './lib/node-flags.mjs';
import { writeEnvironment } from './lib/operator-environment.mjs';
import { dataDirectory, logDirectory, nodeBinary, recordFile, root } from './lib/paths.mjs';
import { assertFree } from './lib/ports.mjs';
import {
  portNeeds,
  processes,
  serverPortNeeds,
  services,
  usualPorts,
  usualServerPorts,
} from './lib/process-definitions.mjs';
import { startServers } from './lib/servers/index.mjs';
import { onEndSignal } from './lib/signals.mjs';
import { unfinishedRestore } from './lib/standstill.mjs';
import { startProcess } from './lib/start-process.mjs';
import { createSupervisor, endLeftovers, lastLines, runningSupervisor, runTool } from './lib/supervisor.mjs';
import { stopwatch } from './lib/time.mjs';

const log = (/** @type {string} */ line) => console.log(line);

const supervisor = createSupervisor({ recordFile });
process.once('exit', () => supervisor.killAll());
onEndSignal(() => void supervisor.stopAll().then(() => process.exit(130)));

/** @typedef {{ backup: string, operator: string, overwrite: boolean, withoutJournal: boolean }} RestoreOptions */

/** @returns {RestoreOptions | undefined} */
function readArguments() {
  try {
    const { positionals, values } = parseArgs({
      allowPositionals: true,
      options: {
        operator: { type: 'string' },
        overwrite: { type: 'boolean', default: false },
        'without-journal': { type: 'boolean', default: false },
      },
    });
    const [backup, ...rest] = positionals;
    const operator = (values.operator ?? '').trim();
    if (backup === undefined || rest.length > 0 || operator === '') return undefined;
    const { overwrite, 'without-journal': withoutJournal } = values;
    return { backup: resolve(backup), operator, overwrite, withoutJournal };
  } catch {
    return undefined;
  }
}

/** @param {RestoreOptions} options */
function assertAllowed({ overwrite, withoutJournal }) {
  assertOwnData('npm run restore');
  const running = runningSupervisor(recordFile);
  if (running) throw new Failure('The product is running: end it first with Ctrl-C in its terminal.');
  if (ownData().length > 0 && !overwrite)
    throw new Failure(`${dataDirectory} has data: --overwrite replaces it with the backup.`);
  if (!existsSync(journals()) && !withoutJournal)
    throw new Failure(
      `There is no journal at ${journals()}: accounts that were erased since the backup would come back, and what was paid since would be lost. Put it there, or pass --without-journal when there was none.`,
    );
  const entries = journalEntries();
  log(`The journal at ${journals()} has ${entries} ${entries === 1 ? 'entry' : 'entries'}.`);
}

/**
 * Runs an operator command and prints its output.
 * @param {string} name
 * @param {string} script
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 */
async function command(name, script, args, env) {
  const logFile = join(logDirectory, `${name}.log`);
  const launch = { name, command: nodeBinary, args: [...nodeFlags, join(root, script), ...args], env };
  const isDone = await runTool(supervisor, { ...launch, cwd: root, logFile });
  if (!isDone) throw new Failure(`${name} has failed:\n${lastLines(logFile, 20)}`);
  const output = readFileSync(logFile, 'utf8').trimEnd();
  if (output !== '') log(output);
}

const settled = 'packages/shared/src/runtime/settled-events-cli.ts';
const STOPS = 3;

/**
 * Stops the services when no event is waiting. A consumer may still hold an event that no queue counts, and jobs may publish until
 * they stop. In that case the services run once more.
 * @param {NodeJS.ProcessEnv} env
 */
async function stopSettled(env) {
  for (let tries = 1; ; tries += 1) {
    await command('events-settled', settled, [], env);
    const goOn = await supervisor.pauseEach(({ tier }) => tier === 'service');
    try {
      await command('events-settled', settled, ['--now'], env);
      return;
    } catch (error) {
      if (tries === STOPS) throw error;
      await goOn();
    }
  }
}

/** Starts MongoDB, Redis and RabbitMQ, and returns what processes need to reach them. */
async function startAllServers() {
  const selected = processes.filter(({ name }) => name !== 'sandbox' || process.env.SANDBOX !== '0');
  const ports = usualPorts(selected);
  const serverPorts = usualServerPorts();
  await endLeftovers(recordFile);
  await assertFree([...portNeeds(ports), ...serverPortNeeds()]);
  const context = {
    supervisor,
    directory: dataDirectory,
    ephemeral: false,
    logDirectory,
    ports: serverPorts,
    log,
  };
  const servers = await startServers(context);
  const environment = sharedEnvironment({
    directory: dataDirectory,
    ports,
    publicUrl: `http://127.0.0.1:${ports.get('gateway')?.http}`,
    sandbox: ports.has('sandbox'),
    servers: servers.environment,
  });
  writeEnvironment('servers', servers.environment);
  return { servers, ports, environment };
}

/** Starts the services without the gateway, so no requests come in. @param {Omit<import('./lib/start-process.mjs').ProcessContext, 'supervisor' | 'logDirectory'>} context */
async function startServices(context) {
  const inside = processes.filter(({ name }) => name !== 'sandbox' && name !== 'gateway');
  const running = inside.map((part) => startProcess(part, { ...context, supervisor, logDirectory }));
  for (const { part, environment } of running) writeEnvironment(part.name, environment);
  await Promise.all(running.map(({ ready }) => ready));
}

/** @param {RestoreOptions} options @param {import('./lib/backup.mjs').Manifest} manifest */
async function makeSafe({ operator }, { heads }) {
  const { servers, ports, environment } = await startAllServers();
  const environmentOf = (/** @type {string} */ name) => {
    const part = processes.find((each) => each.name === name);
    return part ? { ...environment, ...ownEnvironment(part, ports, environment) } : environment;
  };
  const ofOperator = { ...process.env, ...servers.environment };
  /** @param {string} name @param {string} script @param {string[]} [args] @param {NodeJS.ProcessEnv} [more] */
  const inService = (name, script, args = [], more = {}) =>
    command(`${script}-${name}`, `services/${name}/src/${script}.ts`, args, {
      ...environmentOf(name),
      ...more,
    });
  // This must precede the services, whose jobs would immediately erase accounts that are due in the backup.
  await inService('identity', 'main', ['upgrade'], { LOG_LEVEL: 'warn' });
  await inService('identity', 'restore-cli', ['--operator', operator]);
  await startServices({ ports, environment });
  await command('events-settled', settled, [], ofOperator);
  await inService('wallet', 'restore-cli');
  await inService('store-billing', 'restore-cli');
  await stopSettled(ofOperator);
  await inService('wallet', 'audit-cli', heads.ledger ? [heads.ledger] : []);
  const chains = services.map((name) => (heads[name] ? `${name}=${heads[name]}` : name));
  await command('audit-log', 'packages/shared/src/audit/audit-cli.ts', chains, ofOperator);
  await supervisor.stopAll();
  await servers.remove();
}

/** @param {RestoreOptions} options */
async function restore(options) {
  const elapsed = stopwatch();
  assertAllowed(options);
  const manifest = await verifyBackup(options.backup);
  log(`${options.backup} is complete: ${Object.keys(manifest.files).length} files have their checksums.`);
  await placeData(options.backup);
  await makeSafe(options, manifest);
  await removeReplaced();
  rmSync(unfinishedRestore);
  log(
    `Restored ${dataDirectory} to ${manifest.made_at} (${elapsed()}). What users did since then is gone, apart from erasures. npm start starts it.`,
  );
}

const options = readArguments();
if (options === undefined) {
  console.error('usage: npm run restore -- <backup> --operator <name> [--overwrite] [--without-journal]');
  process.exit(64);
}
try {
  await restore(options);
  process.exit(0);
} catch (error) {
  console.error(explain('npm run restore', error));
  await supervisor.stopAll();
  process.exit(1);
}
