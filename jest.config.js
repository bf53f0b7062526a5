import module from 'node:module';
import { basename } from 'node:path';
import { isInProject, runInProject } from './scripts/lib/project-node.mjs';
import { compileCache } from './scripts/lib/start-process.mjs';

// Editors may start jest with any Node; npx starts it with the project's own, if the packages are installed.
const isJest = basename(process.argv[1] ?? '').startsWith('jest');
if (isJest && !isInProject()) await runInProject(['jest', ...process.argv.slice(2)], { development: true });
// Without the cache, loading a service takes a third of a second more CPU time.
process.env.NODE_COMPILE_CACHE ??= compileCache();
module.enableCompileCache(process.env.NODE_COMPILE_CACHE);

const prepared = {
  globalSetup: '<rootDir>/scripts/lib/jest/setup.mjs',
  globalTeardown: '<rootDir>/scripts/lib/jest/end.mjs',
};
const inTurn = { ...prepared, runner: '<rootDir>/scripts/lib/jest/in-turn.mjs' };

const everything = ['packages', 'services', 'gateway', 'sandbox', 'proto'];

// Node strips types itself, so nothing is transformed.
const project = (displayName, folders, glob, options = {}) => ({
  displayName,
  // Jest lists all files below, for each project.
  roots: folders.map((folder) => `<rootDir>/${folder}`),
  testMatch: folders.map((folder) => `<rootDir>/${folder}/${glob}`),
  testEnvironment: 'node',
  testRunner: '<rootDir>/scripts/lib/jest/test-runner.mjs',
  transform: {},
  extensionsToTreatAsEsm: ['.ts'],
  moduleFileExtensions: ['ts', 'js', 'mjs', 'json'],
  ...options,
});

export default {
  // A safety net against hanging tests: ten times what the longest one needs on an idle machine.
  testTimeout: 300_000,
  // Each worker finally writes its modules' compiled code to the cache, which takes seconds on a busy machine.
  workerGracefulExitTimeout: 30_000,
  projects: [
    project('unit', everything, '**/src/**/*.test.ts'),
    project('service', everything, '**/test/**/!(*.long).test.ts', prepared),
    project('architecture', ['test/architecture'], '**/!(*.long).test.ts'),
    project('long', [...everything, 'test'], '**/*.long.test.ts', prepared),
    project('smoke', ['test/e2e'], '**/*.smoke.test.ts', inTurn),
    project('e2e', ['test/e2e'], '**/!(*.smoke|*.long).test.ts', inTurn),
    project('compose', ['test/compose'], '**/*.test.ts', inTurn),
  ],
};
