// scripts/test.mjs starts the servers that the tests need. Node strips the types itself: nothing is transformed.
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
  // At its end a worker writes the compiled code of its modules to the cache: on a busy machine that takes seconds.
  workerGracefulExitTimeout: 30_000,
  testSequencer: '<rootDir>/scripts/lib/jest/longest-first.mjs',
  projects: [
    project('unit', ['{packages,services,gateway,sandbox,proto}/**/src/**/*.test.ts']),
    project('service', [`${everything}/test/**/!(*.long).test.ts`]),
    // They watch modules while these are loaded, so that they need each module anew: jest's own way of loading.
    project('architecture', ['test/architecture/**/*.test.ts'], { testRunner: 'jest-circus/runner' }),
    project('long', [`${everything}/test/**/*.long.test.ts`]),
    project('e2e', ['test/e2e/**/!(*.long).test.ts']),
    project('e2e-long', ['test/e2e/**/*.long.test.ts']),
    project('compose', ['test/compose/**/*.test.ts']),
  ],
};
