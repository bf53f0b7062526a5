// Node strips the types itself, so nothing is transformed. scripts/test.mjs starts the servers and the flags.
const common = {
  testEnvironment: 'node',
  transform: {},
  extensionsToTreatAsEsm: ['.ts'],
  moduleFileExtensions: ['ts', 'js', 'mjs', 'json'],
};

const project = (displayName, testMatch) => ({
  ...common,
  displayName,
  testMatch: testMatch.map((glob) => `<rootDir>/${glob}`),
});

export default {
  testTimeout: 60_000,
  projects: [
    project('unit', ['{packages,services,gateway,sandbox,proto}/**/src/**/*.test.ts']),
    project('service', ['{packages,services,gateway,sandbox}/**/test/**/*.test.ts']),
    project('tidy', ['test/tidy/**/*.test.ts']),
    project('e2e', ['test/e2e/**/*.test.ts']),
  ],
};
