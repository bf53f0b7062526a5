/**
 * Runs a test file with jest-circus, but loads it and its imports with Node's own loader. The test files of one
 * worker therefore share their modules (ADR 17). Jest's loader would load every module again for each test file, in a `vm`
 * context. That costs about a second of CPU per file here, and makes core errors fail `instanceof Error`.
 */
import { createRequire, registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import { ModernFakeTimers } from '@jest/fake-timers';
import * as globals from './globals.mjs';

/**
 * The part of jest's runtime and runner that is used here.
 * @typedef {Record<string, ((...args: any[]) => any) | undefined>} Runtime
 * @typedef {(globalConfig: object, config: object, environment: Environment, runtime: Runtime, path: string, send?: object) => Promise<object>} RunTestFile
 * @typedef {{ moduleMocker: import('jest-mock').ModuleMocker }} Environment
 */

const require = createRequire(import.meta.url);
/** @type {RunTestFile} */
const runSuite = require('jest-circus/runner').default;

const globalsUrl = new URL('./globals.mjs', import.meta.url).href;
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === '@jest/globals' ? { url: globalsUrl, shortCircuit: true } : next(specifier, context),
});

const timerControls = /** @type {const} */ ([
  'useFakeTimers',
  'useRealTimers',
  'advanceTimersByTime',
  'advanceTimersByTimeAsync',
]);

/** The part of the object `jest` that does not need jest's loader. @param {Environment} environment @param {any} config */
function createJest({ moduleMocker }, config) {
  const timers = new ModernFakeTimers({ config, global: globalThis });
  const controls = timerControls.map((name) => [name, timers[name].bind(timers)]);
  const jest = {
    fn: moduleMocker.fn.bind(moduleMocker),
    spyOn: moduleMocker.spyOn.bind(moduleMocker),
    ...Object.fromEntries(controls),
  };
  const restore = () => {
    timers.dispose();
    moduleMocker.restoreAllMocks();
  };
  return { jest, restore };
}

/** Loads a fresh copy for each test file, because jest-circus keeps state in its module and on the global object. @param {string} path */
function loadSuite(path) {
  Reflect.deleteProperty(globalThis, Symbol.for('EVENT_HANDLERS'));
  delete require.cache[path];
  return require(path);
}

/** @type {RunTestFile} */
export default async function runTestFile(globalConfig, config, environment, runtime, testPath, send) {
  const { jest, restore } = createJest(environment, config);
  const own = ['requireModule', 'enterTestCode', 'leaveTestCode', 'clearAllMocks', 'restoreAllMocks'];
  /** @type {Runtime} */
  const native = {
    ...Object.fromEntries(own.map((name) => [name, runtime[name]?.bind(runtime)])),
    requireInternalModule: loadSuite,
    setGlobalsForRuntime: (suite) => globals.use({ ...suite, jest }),
    unstable_shouldLoadAsEsm: () => true,
    // The query prevents a cached module if the file runs twice in one process.
    unstable_importModule: (path) => import(`${pathToFileURL(path)}?run=${Date.now()}`),
  };
  try {
    return await runSuite(globalConfig, config, environment, native, testPath, send);
  } finally {
    restore();
  }
}
