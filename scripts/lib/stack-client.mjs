import { readFileSync } from 'node:fs';

/**
 * A client of the running product for tests and benchmarks. It describes, stops, kills and starts individual parts, including `mongodb`,
 * `redis` and `rabbitmq` if they were started with the product. Each call acts on all replicas of a part.
 * @param {string | undefined} [file] the description written by `startStack`
 */
export function connectStack(file = process.env.E2E_STACK) {
  if (!file) throw new Error('E2E_STACK is not set: run the tests by `npm test`, which starts the product');
  /** Reads the file on each call, because a restarted part has a new process id. @returns {import('./stack.mjs').StackDescription} */
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
  /** Acts on all replicas of a process, or on a server. @param {string} name @param {string} action @param {Record<string, string>} [environment] */
  const actOnAll = async (name, action, environment) => {
    const names = replicas(name).map((part) => part.name);
    await Promise.all((names.length > 0 ? names : [name]).map((each) => act(each, action, environment)));
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
    part: (/** @type {string} */ name) =>
      /** @type {import('./stack.mjs').StackPart} */ (describe().parts[name]),
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
