import { readFileSync } from 'node:fs';

/**
 * A client of the running product, for tests and benchmarks: it describes, stops, kills and starts single parts.
 * Its types are in stack-client.d.mts.
 * @param {string | undefined} [file] the description that `startStack` has written
 */
export function connectStack(file = process.env.E2E_STACK) {
  if (!file) throw new Error('E2E_STACK is not set: run the tests by `npm test`, which starts the product');
  const describe = () => JSON.parse(readFileSync(file, 'utf8'));
  /** @param {string} name @param {string} action @param {Record<string, string>} [environment] */
  const act = async (name, action, environment) => {
    const response = await fetch(`${describe().controlUrl}/${name}/${action}`, {
      method: 'POST',
      body: environment ? JSON.stringify(environment) : undefined,
    });
    const answer = await response.text();
    if (!response.ok) throw new Error(`${action} ${name}: ${answer}`);
  };
  return {
    describe,
    part: (/** @type {string} */ name) => describe().parts[name],
    stop: (/** @type {string} */ name) => act(name, 'stop'),
    kill: (/** @type {string} */ name) => act(name, 'kill'),
    start: (/** @type {string} */ name, /** @type {Record<string, string>} */ environment) =>
      act(name, 'start', environment),
    async restart(/** @type {string} */ name, /** @type {Record<string, string>} */ environment) {
      await act(name, 'stop');
      await act(name, 'start', environment);
    },
  };
}
