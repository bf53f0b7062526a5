/**
 * `npm start`: the whole product on this machine, with demo data.
 * Plain JavaScript without packages, because it installs them.
 */
import { join } from 'node:path';
import { withProgress } from '../packages/shared/src/kernel/progress.mjs';
import { sharedEnvironment } from './lib/environment.mjs';
import { Failure, messageOf, Stopped } from './lib/failure.mjs';
import { greeting } from './lib/greeting.mjs';
import { writeEnvironment } from './lib/operator-environment.mjs';
import { ensurePackages } from './lib/packages.mjs';
import { dataDirectory } from './lib/paths.mjs';
import { assertFree } from './lib/ports.mjs';
import {
  portNeeds,
  processes,
  serverPortNeeds,
  usualPorts,
  usualServerPorts,
} from './lib/process-definitions.mjs';
import { createRestarts, describeEnd } from './lib/restarts.mjs';
import { removeContainers } from './lib/servers/docker.mjs';
import { startServers } from './lib/servers/index.mjs';
import { onEndSignal } from './lib/signals.mjs';
import { startProcess } from './lib/start-process.mjs';
import { createSupervisor, endLeftovers } from './lib/supervisor.mjs';
import { stopwatch } from './lib/time.mjs';
import { warmUp } from './lib/warm-up.mjs';

const logDirectory = join(dataDirectory, 'logs');
const recordFile = join(dataDirectory, 'processes.json');
const log = (/** @type {string} */ line) => console.log(line);
const SERVERS = ['MongoDB', 'Redis', 'RabbitMQ'];

/** @type {Promise<void> | undefined} */
let ending;
/** @type {() => Promise<void>} */
let removeServers = async () => {};

let isUp = false;
const restart = createRestarts({ log, giveUp: (why) => void end(1, why) });
const supervisor = createSupervisor({
  recordFile,
  // A part that ends before everything was up once would do so again.
  onUnexpectedExit: (child) => void (isUp ? restart(child) : end(1, describeEnd(child))),
});

/** @param {number} exitCode @param {string} [why] */
function end(exitCode, why) {
  ending ??= (async () => {
    if (why) console.error(why);
    const elapsed = stopwatch();
    await supervisor.stopAll();
    await removeServers();
    if (supervisor.startedAny) log(`Everything has stopped (${elapsed()}).`);
    process.exit(exitCode);
  })();
  return ending;
}

async function preparePorts() {
  const { runningPid, ended } = await endLeftovers(recordFile);
  if (ended.length > 0)
    log(`Ended the processes that an earlier start had left running: ${ended.join(', ')}.`);
  if (!runningPid) await removeContainers(['mongodb', 'redis', 'rabbitmq']);
  const wanted = processes.filter(({ name }) => name !== 'sandbox' || process.env.SANDBOX !== '0');
  const ports = usualPorts(wanted);
  const serverPorts = usualServerPorts();
  const hint = runningPid ? ` by an npm start that already runs here (process ${runningPid})` : '';
  await assertFree([...portNeeds(ports), ...serverPortNeeds(serverPorts)], { hint });
  return { wanted, ports, serverPorts };
}

async function main() {
  const elapsed = stopwatch();
  const { wanted, ports, serverPorts } = await preparePorts();
  await ensurePackages(supervisor, { logFile: join(logDirectory, 'npm-ci.log'), log });
  const waitingFor = new Set([...SERVERS, ...wanted.map(({ name }) => name)]);
  const running = await withProgress(
    (progress) => {
      const now = () => `ready, waiting for ${[...waitingFor].join(', ')}`;
      progress.expect(waitingFor.size, now());
      const onReady = (
        /** @type {string} */ name,
        /** @type {string} */ took,
        /** @type {string} */ remark,
      ) => {
        waitingFor.delete(name);
        progress.advance(now());
        log(`${name.padEnd(14)} ${took.padStart(7)}  ${remark}`);
      };
      return startAll({ wanted, ports, serverPorts, onReady });
    },
    { write: log },
  );
  isUp = true;
  const origin = (/** @type {string} */ name) => running.find(({ part }) => part.name === name)?.url;
  const operations = `http://127.0.0.1:${ports.get('gateway')?.operations}`;
  const gateway = origin('gateway') ?? '';
  const providerPort = ports.get('sandbox')?.providers;
  log(greeting({ gateway, operations, sandbox: origin('sandbox'), providerPort, took: elapsed() }));
}

/**
 * @typedef {object} Parts
 * @property {import('./lib/process-definitions.mjs').Process[]} wanted
 * @property {import('./lib/process-definitions.mjs').ProcessPorts} ports
 * @property {import('./lib/servers/candidate.mjs').ServerPorts} serverPorts
 * @property {(name: string, took: string, remark: string) => void} onReady
 */

/** The servers, then all processes at once. @param {Parts} parts */
async function startAll({ wanted, ports, serverPorts, onReady }) {
  const context = {
    supervisor,
    directory: dataDirectory,
    ephemeral: false,
    logDirectory,
    ports: serverPorts,
    log,
  };
  const [servers] = await Promise.all([
    startServers(context, ({ name, took, choice, reason }) => onReady(name, took, `${choice}: ${reason}`)),
    warmUp(supervisor, logDirectory),
  ]);
  removeServers = servers.remove;
  const environment = sharedEnvironment({
    directory: dataDirectory,
    ports,
    sandbox: ports.has('sandbox'),
    servers: servers.environment,
  });
  const running = wanted.map((part) => startProcess(part, { supervisor, logDirectory, ports, environment }));
  writeEnvironment('servers', servers.environment);
  for (const { part, environment: own } of running) writeEnvironment(part.name, own);
  await Promise.all(running.map(async ({ part, ready, url }) => onReady(part.name, await ready, url)));
  return running;
}

onEndSignal(() => void end(0));
process.once('exit', () => supervisor.killAll());
try {
  await main();
} catch (error) {
  // During a shutdown, failures of pending work are expected.
  if (error instanceof Stopped || ending) await ending;
  else await end(1, error instanceof Failure ? error.message : `npm start failed: ${messageOf(error)}`);
}
