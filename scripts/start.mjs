/**
 * `npm start`: runs the whole product on this machine, with demo data.
 * `npm start -- --replicas 2`: two replicas of the gateway and each service.
 * `npm run dev -- wallet`: the same, but this process restarts on changes and has an inspector, and its log is shown. Without a
 * name, all processes do.
 * Plain JavaScript without packages, because this script installs them.
 */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { sharedEnvironment } from './lib/environment.mjs';
import { explain } from './lib/explain.mjs';
import { Failure, Stopped } from './lib/failure.mjs';
import { greeting } from './lib/greeting.mjs';
import { followLogs } from './lib/logs.mjs';
import { writeEnvironment } from './lib/operator-environment.mjs';
import { ensurePackages } from './lib/packages.mjs';
import { dataDirectory, logDirectory, recordFile } from './lib/paths.mjs';
import { assertFree } from './lib/ports.mjs';
import {
  inspectorPortNeeds,
  inspectorPorts,
  portNeeds,
  processes,
  programOf,
  serverPortNeeds,
  usualPorts,
  usualServerPorts,
} from './lib/process-definitions.mjs';
import { replicate, startInOrder, startOptions } from './lib/replicas.mjs';
import { createRestarts, describeEnd } from './lib/restarts.mjs';
import { startBalancer } from './lib/servers/balancer.mjs';
import { removeContainers } from './lib/servers/docker.mjs';
import { startServers } from './lib/servers/index.mjs';
import { onEndSignal } from './lib/signals.mjs';
import { claimData, releaseData, standStillOnRequest, unfinishedRestore } from './lib/standstill.mjs';
import { startProcess } from './lib/start-process.mjs';
import { withStartProgress } from './lib/start-progress.mjs';
import { createSupervisor, endLeftovers, runningSupervisor } from './lib/supervisor.mjs';
import { stopwatch } from './lib/time.mjs';
import { warmUp } from './lib/warm-up.mjs';

const log = (/** @type {string} */ line) => console.log(line);
const SERVERS = ['MongoDB', 'Redis', 'RabbitMQ'];
const BALANCER = 'HAProxy';
const command = process.argv.includes('--dev') ? 'npm run dev' : 'npm start';
const selected = processes.filter(({ name }) => name !== 'sandbox' || process.env.SANDBOX !== '0');
const usual = usualPorts(selected);
const serverPorts = usualServerPorts();
const publicPort = usual.get('gateway')?.http ?? 0;
const publicUrl = `http://127.0.0.1:${publicPort}`;

/** @type {Promise<void> | undefined} */
let ending;
/** @type {() => Promise<void>} */
let removeServers = async () => {};

let isUp = false;
const restart = createRestarts({ log, giveUp: (why) => void end(1, new Failure(why)) });
const supervisor = createSupervisor({
  recordFile,
  url: publicUrl,
  // A part that ends before everything was ready once would do so again, until its sources change.
  onUnexpectedExit: (child) =>
    void (isUp || child.restartsOnChange ? restart(child) : end(1, new Failure(describeEnd(child)))),
});

/** @param {number} exitCode @param {unknown} [error] why */
function end(exitCode, error) {
  ending ??= (async () => {
    if (error) console.error(explain(command, error));
    const elapsed = stopwatch();
    await supervisor.stopAll();
    await removeServers();
    if (isUp || !error) log(`Everything has stopped (${elapsed()}).`);
    process.exit(exitCode);
  })();
  return ending;
}

/** @typedef {Awaited<ReturnType<typeof replicate>>} Product */

/** The inspector ports of the processes under development. @param {Product} product @param {ReturnType<typeof startOptions>} options */
function chosenInspectors({ ports }, { isDev, named }) {
  if (!isDev) return new Map();
  const unknown = named.find((name) => !ports.has(name));
  if (unknown) {
    throw new Failure(`There is no process "${unknown}"; there are: ${[...ports.keys()].join(', ')}.`);
  }
  return inspectorPorts(named.length > 0 ? named : [...ports.keys()]);
}

/** Shows the logs of the processes under development. @param {Map<string, number>} inspectors */
async function showLogs(inspectors) {
  if (inspectors.size === 0) return;
  await followLogs(logDirectory, [...inspectors.keys()], { write: log });
}

function assertNotRunning() {
  const running = runningSupervisor(recordFile);
  if (running) {
    throw new Failure(
      `The product is already running: ${running.url}. Ctrl-C in its terminal or \`kill ${running.pid}\` ends it.`,
    );
  }
}

/** @param {Map<string, number>} inspectors */
async function preparePorts(inspectors) {
  assertNotRunning();
  await claimData();
  // Another start may have ended its claim meanwhile.
  assertNotRunning();
  if (existsSync(unfinishedRestore))
    throw new Failure(
      'A restore was not completed, so the data may contain erased accounts and revoked tokens: run `npm run restore` again, with --overwrite.',
    );
  const ended = await endLeftovers(recordFile);
  if (ended.length > 0)
    log(`Ended the processes that an earlier start had left running: ${ended.join(', ')}.`);
  await removeContainers(['mongodb', 'redis', 'rabbitmq']);
  await assertFree([...portNeeds(usual), ...serverPortNeeds(), ...inspectorPortNeeds(inspectors)]);
}

async function main() {
  const elapsed = stopwatch();
  const options = startOptions(process.argv.slice(2));
  const { replicas } = options;
  const reserved = Object.values(serverPorts);
  const product = await replicate(selected, usual, { count: replicas, reserved });
  const inspectors = chosenInspectors(product, options);
  await preparePorts(inspectors);
  // Logs of replicas that no longer exist would be shown with the current ones.
  rmSync(logDirectory, { recursive: true, force: true });
  mkdirSync(logDirectory, { recursive: true });
  const names = [...SERVERS, ...product.parts.map(({ name }) => name), ...(replicas > 1 ? [BALANCER] : [])];
  const progress = { recordFile: join(dataDirectory, 'last-start.json'), write: log };
  await withStartProgress(names, progress, (display) => startAll(product, inspectors, display));
  isUp = true;
  releaseData();
  log(
    greeting({
      gateway: publicUrl,
      operations: operationsUrls(product),
      sandbox: usual.has('sandbox') ? `http://127.0.0.1:${usual.get('sandbox')?.http}` : undefined,
      providerPort: usual.get('sandbox')?.provider,
      replicas,
      logDirectory,
      inspectors,
      took: elapsed(),
    }),
  );
}

/** The operations address of each gateway. @param {Product} product */
function operationsUrls({ ports }) {
  const gateways = [...ports].filter(([name]) => programOf(name) === 'gateway');
  return gateways.map(([, { operations }]) => `http://127.0.0.1:${operations}`);
}

/**
 * Installs the packages while the servers start, then starts all processes.
 * @param {Product} product
 * @param {Map<string, number>} inspectors
 * @param {import('./lib/start-progress.mjs').Display} display
 */
async function startAll(product, inspectors, { onCount, onInstalled, onReady }) {
  const { ports } = product;
  const packages = ensurePackages({ logFile: join(logDirectory, 'npm-ci.log'), log, onCount });
  const context = {
    supervisor,
    directory: dataDirectory,
    ephemeral: false,
    logDirectory,
    ports: serverPorts,
    log,
    packages,
  };
  const [environment] = await Promise.all([
    startServers(context, ({ name, took, choice, reason }) =>
      onReady(name, took, `${choice}: ${reason}`),
    ).then(async (servers) => {
      removeServers = servers.remove;
      writeEnvironment('servers', servers.environment);
      await packages;
      return sharedEnvironment({
        directory: dataDirectory,
        ports,
        publicUrl,
        sandbox: ports.has('sandbox'),
        servers: servers.environment,
      });
    }),
    packages.then(async () => {
      onInstalled();
      await warmUp(supervisor, logDirectory);
    }),
  ]);
  await showLogs(inspectors);
  /** @type {Awaited<ReturnType<typeof startBalancer>> | undefined} */
  let balancer;
  const start = async (/** @type {import('./lib/process-definitions.mjs').Process} */ part) => {
    const inspectorPort = inspectors.get(part.name);
    const development = inspectorPort === undefined ? undefined : { inspectorPort, log };
    const started = startProcess(part, { supervisor, logDirectory, ports, environment }, { development });
    writeEnvironment(part.name, started.environment);
    const took = await started.ready;
    // Until the balancer knows this gateway, all requests depend on the other one.
    if (part.tier === 'gateway') await balancer?.untilReady(part.name);
    onReady(part.name, took, started.url);
  };
  await startInOrder(product, start, async (gateways) => {
    const elapsed = stopwatch();
    balancer = await startBalancer(context, { port: publicPort, gateways });
    onReady(BALANCER, elapsed(), publicUrl);
  });
}

onEndSignal(() => void end(0));
standStillOnRequest({ supervisor, isUp: () => isUp, log, fail: (error) => void end(1, error) });
process.on('uncaughtException', (error) => void end(1, error));
process.once('exit', () => supervisor.killAll());
try {
  await main();
} catch (error) {
  // During a shutdown, failures of pending work are expected.
  if (error instanceof Stopped || ending) await ending;
  else await end(1, error);
}
