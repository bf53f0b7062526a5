/**
 * `npm start`: the whole product on this machine, with demo data.
 * `npm run dev -- wallet`: the same, but this process restarts on a change, has an inspector, and its log is shown; all of them
 * without a name.
 * Plain JavaScript without packages, because it installs them.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { withProgress } from '../packages/shared/src/kernel/progress.mjs';
import { sharedEnvironment } from './lib/environment.mjs';
import { explain } from './lib/explain.mjs';
import { Failure, Stopped } from './lib/failure.mjs';
import { greeting } from './lib/greeting.mjs';
import { followLogs, logFileOf } from './lib/logs.mjs';
import { writeEnvironment } from './lib/operator-environment.mjs';
import { ensurePackages } from './lib/packages.mjs';
import { dataDirectory } from './lib/paths.mjs';
import { assertFree } from './lib/ports.mjs';
import {
  inspectorPortNeeds,
  inspectorPorts,
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
import { createSupervisor, endLeftovers, runningSupervisor } from './lib/supervisor.mjs';
import { stopwatch } from './lib/time.mjs';
import { warmUp } from './lib/warm-up.mjs';

const logDirectory = join(dataDirectory, 'logs');
const recordFile = join(dataDirectory, 'processes.json');
const log = (/** @type {string} */ line) => console.log(line);
const SERVERS = ['MongoDB', 'Redis', 'RabbitMQ'];
const [mode, ...named] = process.argv.slice(2);
const command = mode === '--dev' ? 'npm run dev' : 'npm start';
const wanted = processes.filter(({ name }) => name !== 'sandbox' || process.env.SANDBOX !== '0');
const ports = usualPorts(wanted);
const serverPorts = usualServerPorts();

/** @type {Promise<void> | undefined} */
let ending;
/** @type {() => Promise<void>} */
let removeServers = async () => {};

let isUp = false;
const restart = createRestarts({ log, giveUp: (why) => void end(1, new Failure(why)) });
const supervisor = createSupervisor({
  recordFile,
  url: originOf('gateway'),
  // A part that ends before everything was up once would do so again.
  onUnexpectedExit: (child) => void (isUp ? restart(child) : end(1, new Failure(describeEnd(child)))),
});

/** @param {number} exitCode @param {unknown} [error] why */
function end(exitCode, error) {
  ending ??= (async () => {
    if (error) console.error(explain(command, error));
    const elapsed = stopwatch();
    await supervisor.stopAll();
    await removeServers();
    if (supervisor.startedAny) log(`Everything has stopped (${elapsed()}).`);
    process.exit(exitCode);
  })();
  return ending;
}

/** @param {string} name of a process */
function originOf(name) {
  return `http://127.0.0.1:${ports.get(name)?.http}`;
}

/** The processes that are developed, with the ports of their inspectors. */
function chosenInspectors() {
  if (mode !== '--dev') return new Map();
  const unknown = named.find((name) => !ports.has(name));
  if (unknown) {
    throw new Failure(`There is no process "${unknown}"; there are: ${[...ports.keys()].join(', ')}.`);
  }
  return inspectorPorts(named.length > 0 ? named : [...ports.keys()]);
}

/** @param {Map<string, number>} inspectors */
async function preparePorts(inspectors) {
  const running = runningSupervisor(recordFile);
  if (running) {
    throw new Failure(
      `The product runs already: ${running.url}. Ctrl-C in its terminal or \`kill ${running.pid}\` ends it.`,
    );
  }
  const ended = await endLeftovers(recordFile);
  if (ended.length > 0)
    log(`Ended the processes that an earlier start had left running: ${ended.join(', ')}.`);
  await removeContainers(['mongodb', 'redis', 'rabbitmq']);
  await assertFree([...portNeeds(ports), ...serverPortNeeds(serverPorts), ...inspectorPortNeeds(inspectors)]);
}

async function main() {
  const elapsed = stopwatch();
  const inspectors = chosenInspectors();
  await preparePorts(inspectors);
  await ensurePackages(supervisor, { logFile: join(logDirectory, 'npm-ci.log'), log });
  if (inspectors.size > 0) {
    for (const name of inspectors.keys()) rmSync(logFileOf(logDirectory, name), { force: true });
    await followLogs(logDirectory, [...inspectors.keys()], { write: log });
  }
  const waitingFor = new Set([...SERVERS, ...wanted.map(({ name }) => name)]);
  await withProgress(
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
      return startAll(inspectors, onReady);
    },
    { write: log, areAlike: false },
  );
  isUp = true;
  log(
    greeting({
      gateway: originOf('gateway'),
      operations: `http://127.0.0.1:${ports.get('gateway')?.operations}`,
      sandbox: ports.has('sandbox') ? originOf('sandbox') : undefined,
      providerPort: ports.get('sandbox')?.providers,
      logDirectory,
      inspectors,
      took: elapsed(),
    }),
  );
}

/**
 * The servers, then all processes at once.
 * @param {Map<string, number>} inspectors
 * @param {(name: string, took: string, remark: string) => void} onReady
 */
async function startAll(inspectors, onReady) {
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
  const running = wanted.map((part) =>
    startProcess(
      part,
      { supervisor, logDirectory, ports, environment },
      { inspectorPort: inspectors.get(part.name) },
    ),
  );
  writeEnvironment('servers', servers.environment);
  for (const { part, environment: own } of running) writeEnvironment(part.name, own);
  await Promise.all(running.map(async ({ part, ready, url }) => onReady(part.name, await ready, url)));
}

onEndSignal(() => void end(0));
process.on('uncaughtException', (error) => void end(1, error));
process.once('exit', () => supervisor.killAll());
try {
  await main();
} catch (error) {
  // During a shutdown, failures of pending work are expected.
  if (error instanceof Stopped || ending) await ending;
  else await end(1, error);
}
