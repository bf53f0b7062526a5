import { basename } from 'node:path';
import { jestFlags } from './scripts/lib/node-flags.mjs';
import { runInProject } from './scripts/lib/project-node.mjs';

// Editors and npx may start jest with any Node; `npm test` starts it as the tests need it.
const isJest = basename(process.argv[1] ?? '').startsWith('jest');
if (isJest && !jestFlags.every((flag) => process.execArgv.includes(flag)))
  await runInProject([...jestFlags, 'jest', ...process.argv.slice(2)]);

const prepared = (globalSetup) => ({ globalSetup, globalTeardown: '<rootDir>/scripts/lib/jest/end.mjs' });
const withServers = prepared('<rootDir>/scripts/lib/jest/start-servers.mjs');
const withProduct = {
  ...prepared('<rootDir>/scripts/lib/jest/start-product.mjs'),
  runner: '<rootDir>/scripts/lib/jest/in-turn.mjs',
};
const withImages = prepared('<rootDir>/scripts/lib/jest/find-images.mjs');

// Node strips types itself, so nothing is transformed.
const project = (displayName, testMatch, options = {}) => ({
  displayName,
  testMatch: testMatch.map((glob) => `<rootDir>/${glob}`),
  testEnvironment: 'node',
  testRunner: '<rootDir>/scripts/lib/jest/test-runner.mjs',
  transform: {},
  extensionsToTreatAsEsm: ['.ts'],
  moduleFileExtensions: ['ts', 'js', 'mjs', 'json'],
  ...options,
});

const everything = '{packages,services,gateway,sandbox}/**';

export default {
  // A safety net against hanging tests: ten times what the longest one needs on an idle machine.
  testTimeout: 300_000,
  // Each worker finally writes its modules' compiled code to the cache, which takes seconds on a busy machine.
  workerGracefulExitTimeout: 30_000,
  testSequencer: '<rootDir>/scripts/lib/jest/longest-first.mjs',
  projects: [
    project('unit', ['{packages,services,gateway,sandbox,proto}/**/src/**/*.test.ts']),
    project('service', [`${everything}/test/**/!(*.long).test.ts`], withServers),
    // These tests observe modules while they load, so they need fresh modules from jest's own loader.
    project('architecture', ['test/architecture/**/!(*.long).test.ts'], { testRunner: 'jest-circus/runner' }),
    project(
      'long',
      [`${everything}/test/**/*.long.test.ts`, 'test/architecture/**/*.long.test.ts'],
      withServers,
    ),
    project('smoke', ['test/e2e/**/*.smoke.test.ts'], withProduct),
    project('e2e', ['test/e2e/**/!(*.smoke).test.ts'], withProduct),
    project('compose', ['test/compose/**/*.test.ts'], { ...withImages, runner: withProduct.runner }),
  ],
};
