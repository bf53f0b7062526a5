import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { sharedEnvironment } from './environment.mjs';
import { messageOf } from './failure.mjs';
import { freePorts } from './ports.mjs';
import { processes, programOf, services, variablePrefix } from './process-definitions.mjs';
import { portsOf, replicate, startInOrder } from './replicas.mjs';
import { startBalancer } from './servers/balancer.mjs';
import { startProcess } from './start-process.mjs';
import { warmUp } from './warm-up.mjs';

/**
 * @typedef {object} StackOptions
 * @property {import('./supervisor.mjs').Supervisor} supervisor
 * @property {import('./servers/index.mjs').Servers} servers
 * @property {string} directory for the data and the description
 * @property {string} logDirectory
 * @property {number | undefined} [replicas] number of replicas of the gateway and each service
 * @property {string | undefined} [release] the directory of the release that the gateway and services start from at first
 */

/** Deadlines of the product in tests, which a busy machine would otherwise fail. A test about a deadline sets its own. */
export const DEADLINE_FACTOR = '10';

/** The value in Kubernetes. On a busy machine a request may take longer than the default, with which it would lose its connection. */
const SHUTDOWN_GRACE_MS = 55_000;

/** The variables that processes get from the caller's environment. All others must not affect a test. */
const passedOn = /^(PATH|HOME|LANG|LC_.*|TZ|TMPDIR|LOG_LEVEL|NODE_EXTRA_CA_CERTS|SSL_CERT_.*)$/;

/**
 * Starts the whole product on free ports, with new databases. Its parts can be stopped and started one by one.
 * Other processes, such as tests, do that through the description in `file` (see stack-client.mjs).
 * @param {StackOptions} options
 */
export async function startStack({ supervisor, servers, directory, logDirectory, replicas = 1, release }) {
  await warmUp(supervisor, logDirectory);
  const single = await chosenPorts();
  const { parts, ports } = await replicate(processes, single, { count: replicas });
  const publicPort = single.get('gateway')?.http ?? 0;
  const publicUrl = `http://127.0.0.1:${publicPort}`;
  const context = { supervisor, logDirectory, ports, environment: {} };
  context.environment = stackEnvironment(ports, publicUrl, servers, directory);
  /** @type {Map<string, import('./start-process.mjs').RunningProcess>} */
  const running = new Map();
  /** @type {Awaited<ReturnType<typeof startBalancer>> | undefined} */
  let balancer;
  const file = join(directory, 'stack.json');
  const partsByName = new Map(parts.map((part) => [part.name, part]));

  /**
   * @param {string} name
   * @param {{ environment?: NodeJS.ProcessEnv | undefined, directory?: string | undefined }} [options] directory: that of another release
   */
  async function start(name, options = {}) {
    const part = partsByName.get(name);
    if (!part) await serverNamed(servers, name).start();
    else if (running.get(name)?.child.ended === undefined && running.has(name)) return;
    else {
      const environment = { ...servers.environmentOf?.(programOf(name)), ...options.environment };
      const started = startProcess(part, context, { ...options, append: running.has(name), environment });
      running.set(name, started);
      await started.ready;
      if (part.tier === 'gateway') await balancer?.untilReady(name);
    }
    describe();
  }

  /** @param {string} name @param {{ force?: boolean }} [options] */
  async function stop(name, { force = false } = {}) {
    if (!partsByName.has(name)) return serverNamed(servers, name).stop();
    await running.get(name)?.child.stop(force ? 0 : SHUTDOWN_GRACE_MS + 5_000);
  }

  const control = await startControl({ start: (name, environment) => start(name, { environment }), stop });

  function describe() {
    const described = [...running].map(([name, process]) => [name, describePart(process, ports)]);
    const description = {
      controlUrl: control.url,
      parts: Object.fromEntries(described),
      servers: servers.environment,
    };
    writeFileSync(file, `${JSON.stringify(description, null, 2)}\n`, { mode: 0o600 });
  }

  const close = async () => {
    control.close();
    await Promise.all([...running.values()].map(({ child }) => child.stop(5_000)));
  };
  try {
    await startInOrder(
      { parts, ports },
      ({ name }) => start(name, name === 'sandbox' ? {} : { directory: release }),
      async (gateways) => {
        balancer = await startBalancer(
          { supervisor, directory, logDirectory, log: console.error },
          { port: publicPort, gateways },
        );
      },
    );
  } catch (error) {
    await close();
    throw error;
  }
  const sandboxUrl = running.get('sandbox')?.url ?? '';
  const environment = { E2E_BASE_URL: publicUrl, E2E_SANDBOX_URL: sandboxUrl, E2E_STACK: file };
  return {
    url: publicUrl,
    sandboxUrl,
    environment: { ...servers.environment, ...environment },
    file,
    start,
    stop,
    close,
  };
}

/**
 * @typedef {ReturnType<typeof describePart> & { logFile: string, environment: Record<string, string> }} StackPart
 * @typedef {{ controlUrl: string, parts: Record<string, StackPart>, servers: { MONGODB_URI: string, REDIS_URL: string, AMQP_URL: string } }} StackDescription
 *   its parts by name: `gateway`, `sandbox`, `identity`, …
 */

/** @param {import('./start-process.mjs').RunningProcess} running @param {import('./process-definitions.mjs').ProcessPorts} ports */
function describePart({ part, child, url, environment }, ports) {
  const { http, grpc, operations } = ports.get(part.name) ?? {};
  return {
    name: part.name,
    /** The program of all its replicas: `wallet` for `wallet` and `wallet-2`. */
    program: programOf(part.name),
    httpPort: http,
    grpcPort: grpc,
    /** Metrics and the health of all services, at the gateway. */
    operationsUrl: operations ? `http://127.0.0.1:${operations}` : undefined,
    url,
    tier: part.tier,
    pid: child.pid,
    logFile: child.logFile,
    environment,
  };
}

async function chosenPorts() {
  const free = await freePorts(processes.length * 4);
  return new Map(processes.map((part) => [part.name, portsOf(part, () => free.pop() ?? 0)]));
}

/**
 * @param {import('./process-definitions.mjs').ProcessPorts} ports
 * @param {string} publicUrl
 * @param {import('./servers/index.mjs').Servers} servers
 * @param {string} directory
 */
function stackEnvironment(ports, publicUrl, servers, directory) {
  const run = randomBytes(4).toString('hex');
  const databases = services.map((name) => [
    `${variablePrefix(name)}_MONGODB_DATABASE`,
    `e2e_${run}_${name.replaceAll('-', '_')}`,
  ]);
  const caller = Object.fromEntries(Object.entries(process.env).filter(([name]) => passedOn.test(name)));
  return {
    ...sharedEnvironment({
      directory,
      ports,
      publicUrl,
      sandbox: true,
      servers: servers.environment,
      caller,
    }),
    ...Object.fromEntries(databases),
    EVENTS_NAMESPACE: `e2e-${run}`,
    DEADLINE_FACTOR,
    SHUTDOWN_GRACE_MS: String(SHUTDOWN_GRACE_MS),
    // The queue of password checks, too, is limited by time.
    PASSWORD_QUEUE_MS: '60000',
  };
}

/** @param {import('./servers/index.mjs').Servers} servers @param {string} name */
function serverNamed(servers, name) {
  if (name === 'mongodb' || name === 'redis' || name === 'rabbitmq') return servers[name];
  throw new Error(`there is no part named ${name}`);
}

/**
 * Serves `POST /<part>/start` (body: additional environment), `/stop` and `/kill` on this machine.
 * @param {{ start: (name: string, environment?: NodeJS.ProcessEnv) => Promise<void>, stop: (name: string, options?: { force?: boolean }) => Promise<void> }} actions
 */
async function startControl({ start, stop }) {
  const server = createServer(async (request, response) => {
    const [, name = '', action] = (request.url ?? '').split('/');
    try {
      const body = (await request.toArray()).join('');
      if (action === 'start') await start(name, body ? JSON.parse(body) : undefined);
      else if (action === 'stop' || action === 'kill') await stop(name, { force: action === 'kill' });
      else throw new Error(`there is no action ${action}`);
      response.end('done');
    } catch (error) {
      response.writeHead(500).end(messageOf(error));
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
