import { readFileSync } from 'node:fs';

/**
 * @typedef {object} StackPart
 * @property {string} program the program of all its replicas: `wallet` for `wallet` and `wallet-2`
 * @property {number} httpPort
 * @property {number} [grpcPort]
 * @property {string} url `http://127.0.0.1:port`
 * @property {string} [operationsUrl] of the gateway: metrics and the health of all services
 * @property {'gateway' | 'service'} tier
 * @property {number} pid
 * @property {string} logFile
 * @property {Record<string, string>} environment
 *
 * @typedef {object} StackDescription
 * @property {string} controlUrl
 * @property {Record<string, StackPart>} parts by name: `gateway`, `sandbox`, `identity`, …
 * @property {{ MONGODB_URI: string, REDIS_URL: string, AMQP_URL: string }} servers
 */

/**
 * A client of the running product for tests and benchmarks. It describes, stops, kills and starts individual parts, including `mongodb`,
 * `redis` and `rabbitmq` if they were started with the product. Each call acts on all replicas of a part.
 * @param {string | undefined} [file] the description written by `startStack`
 */
export function connectStack(file = process.env.E2E_STACK) {
  if (!file) throw new Error('E2E_STACK is not set: run the tests by `npm test`, which starts the product');
  /** Reads the file on each call, because a restarted part has a new process id. @returns {StackDescription} */
  const describe = () => JSON.parse(readFileSync(file, 'utf8'));
  /** @param {string} name @param {string} action @param {Record<string, string>} [environment] */
  const act = async (name, action, environment) => {
    const response = await fetch(`${describe().controlUrl}/${name}/${action}`, {
      method: 'POST',
      body: environment ? JSON.stringify(environment) : null,
    });
    const answer = await response.text();
    if (!response.ok) throw new Error(`${action} ${name}: ${answer}`);
  };
  /** @param {string} program */
  const replicas = (program) => Object.values(describe().parts).filter((part) => part.program === program);
  /** Acts on all replicas of a process. @param {string} program @param {string} action @param {Record<string, string>} [environment] */
  const actOnAll = async (program, action, environment) => {
    const all = Object.entries(describe().parts).filter(([, part]) => part.program === program);
    const names = all.length > 0 ? all.map(([name]) => name) : [program];
    await Promise.all(names.map((name) => act(name, action, environment)));
  };
  /** Sends SIGTERM: current requests are finished. Resolves when the process has ended. @param {string} name */
  const stop = (name) => actOnAll(name, 'stop');
  /**
   * Resolves when the process is ready. Does nothing if it is already running.
   * @param {string} name
   * @param {Record<string, string>} [environment] variables for this start only
   */
  const start = (name, environment) => actOnAll(name, 'start', environment);
  return {
    describe,
    replicas,
    part: (/** @type {string} */ name) => /** @type {StackPart} */ (describe().parts[name]),
    stop,
    /** Sends SIGKILL. @param {string} name */
    kill: (name) => actOnAll(name, 'kill'),
    start,
    /** @param {string} name @param {Record<string, string>} [environment] */
    async restart(name, environment) {
      await stop(name);
      await start(name, environment);
    },
  };
}
