/**
 * `npm run restore -- <backup> --operator <name> (--lost-at <time> | --without-journal) [--overwrite]`: restores the data of `npm start`
 * on this machine from a backup. It refuses a journal that is not complete until the loss, and verifies the checksums. Before a service
 * runs, it ends every credential of the backup, repeats the erasures in the journal, and restarts the grace period of pending
 * deletions. It then verifies the ledger and the audit logs, all without the gateway. Exit codes: 0 done, 1 failed, 64 wrong usage.
 */
import { appendFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readJournals } from '../packages/shared/src/kernel/journal-markers.mjs';
import {
  assertOwnData,
  bytesOf,
  journals,
  ownData,
  placeData,
  readManifest,
  removeReplaced,
  verifyFiles,
} from './lib/backup.mjs';
import { assertRoom } from './lib/backup-target.mjs';
import { ownEnvironment, sharedEnvironment } from './lib/environment.mjs';
import { explain } from './lib/explain.mjs';
import { Failure, messageOf } from './lib/failure.mjs';
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
import { assertStandsStill, claimData, unfinishedRestore } from './lib/standstill.mjs';
import { startProcess } from './lib/start-process.mjs';
import { createSupervisor, endLeftovers, lastLines, runningSupervisor, runTool } from './lib/supervisor.mjs';
import { stopwatch } from './lib/time.mjs';

const log = (/** @type {string} */ line) => console.log(line);

const supervisor = createSupervisor({ recordFile });
process.once('exit', () => supervisor.killAll());
onEndSignal(() => void supervisor.stopAll().then(() => process.exit(130)));

/** @typedef {{ backup: string, operator: string, overwrite: boolean, lostAt: Date | undefined }} RestoreOptions lostAt: undefined without a journal */
/** @typedef {import('./lib/backup.mjs').Manifest} Manifest */

/** @returns {RestoreOptions | undefined} */
function readArguments() {
  try {
    const { positionals, values } = parseArgs({
      allowPositionals: true,
      options: {
        operator: { type: 'string', default: '' },
        overwrite: { type: 'boolean', default: false },
        'lost-at': { type: 'string', default: '' },
        'without-journal': { type: 'boolean', default: false },
      },
    });
    const [backup, ...rest] = positionals;
    const operator = values.operator.trim();
    const lostAt = values['without-journal'] ? undefined : new Date(values['lost-at']);
    if (backup === undefined || rest.length > 0 || operator === '') return undefined;
    if (Number.isNaN(lostAt?.getTime())) return undefined;
    return { backup: resolve(backup), operator, overwrite: values.overwrite, lostAt };
  } catch {
    return undefined;
  }
}

/** What can be refused is refused here, before data is moved. @param {RestoreOptions} options @returns {Promise<Manifest>} */
async function assertAllowed({ backup, overwrite, lostAt }) {
  assertOwnData('npm run restore');
  await claimData();
  if (runningSupervisor(recordFile))
    throw new Failure('The product is running: end it first with Ctrl-C in its terminal.');
  // The parts that a killed restore leaves behind serve nobody.
  if (existsSync(unfinishedRestore)) await endLeftovers(recordFile);
  assertStandsStill();
  if (ownData().length > 0 && !overwrite)
    throw new Failure(`${dataDirectory} has data: --overwrite replaces it with the backup.`);
  const manifest = await readManifest(backup);
  await assertJournals(manifest, lostAt);
  assertRoom(dataDirectory, bytesOf(manifest));
  await verifyFiles(backup, manifest);
  log(`${backup} is complete: ${Object.keys(manifest.files).length} files have their checksums.`);
  return manifest;
}

/** @param {Manifest} manifest @param {Date | undefined} lostAt */
async function assertJournals({ id, journals: marked, made_at: madeAt }, lostAt) {
  if (lostAt === undefined)
    return log(
      `Without a complete journal. What it does not name is lost since ${madeAt}: erased accounts come back, and deposits, payouts and store purchases are gone.`,
    );
  if (id === undefined)
    throw new Failure(
      'The backup has no marker in the journals, so nothing shows that they are complete: pass --without-journal.',
    );
  const state = await readJournals(journals(), { id, lostAt }, marked).catch((error) => {
    throw new Failure(
      `${messageOf(error)}. Put the complete journals into ${journals()}, or pass --without-journal if they are lost.`,
    );
  });
  log(
    `The journals in ${journals()} have ${state.entries} ${state.entries === 1 ? 'entry' : 'entries'}, the newest of ${state.newestAt?.toISOString()}.`,
  );
}

const stamp = new Date().toISOString().replaceAll(/[:.]/g, '-');
/** What operators must keep: money and accounts that need a decision. */
const listsFile = join(dataDirectory, `restored-${stamp}.txt`);

/**
 * Runs an operator command, prints its output, and returns it.
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
  return output;
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

/** Returns what was restored. @param {RestoreOptions} options @param {Manifest} manifest */
async function makeSafe({ operator, lostAt }, { id, heads }) {
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
  const journal = lostAt ? ['--backup', id, '--lost-at', lostAt.toISOString()] : ['--without-journal'];
  /** @type {string[]} */
  const summaries = [];
  const restoreService = async (/** @type {string} */ name, /** @type {string[]} */ ...args) => {
    const lists = await inService(name, 'restore-cli', [...args, ...journal]);
    appendFileSync(listsFile, `${name}\n${lists}\n\n`, { mode: 0o600 });
    summaries.push(lists.split('\n').at(-1) ?? '');
  };
  // This must precede the services, whose jobs would immediately erase accounts that are due in the backup.
  await inService('identity', 'main', ['upgrade'], { LOG_LEVEL: 'warn' });
  await restoreService('identity', '--operator', operator);
  await startServices({ ports, environment });
  await command('events-settled', settled, [], ofOperator);
  await restoreService('wallet');
  await restoreService('store-billing');
  await stopSettled(ofOperator);
  await inService('wallet', 'audit-cli', heads.ledger ? [heads.ledger] : []);
  const chains = services.map((name) => (heads[name] ? `${name}=${heads[name]}` : name));
  await command('audit-log', 'packages/shared/src/audit/audit-cli.ts', chains, ofOperator);
  await supervisor.stopAll();
  await servers.remove();
  return summaries.join(' ');
}

/** @param {RestoreOptions} options */
async function restore(options) {
  const elapsed = stopwatch();
  const manifest = await assertAllowed(options);
  await placeData(options.backup);
  const restored = await makeSafe(options, manifest);
  await removeReplaced();
  rmSync(unfinishedRestore);
  log(
    `Restored ${dataDirectory} to ${manifest.made_at} (${elapsed()}). ${restored} Keep ${listsFile}: it lists what needs a decision. Other changes since then are gone. npm start starts it.`,
  );
}

const options = readArguments();
if (options === undefined) {
  console.error(
    'usage: npm run restore -- <backup> --operator <name> (--lost-at <time> | --without-journal) [--overwrite]',
  );
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
