/**
 * Who may import whom (the reasons are in ARCHITECTURE.md). Run by scripts/check-architecture.mjs.
 * `$1` in `pathNot` is what the group in `from.path` has matched: the same service.
 */
const inRoom = (names) => `^services/([^/]+)/src/(?:${names})/`;
const sameRoom = (names) => `^services/$1/src/(?:${names})/`;
const tests = '\\.test\\.ts$|/test/|/testing/|testing\\.ts$';

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      comment: 'A cycle has no beginning from which to read it; nor has one of types.',
      from: {},
      to: { circular: true },
    },
    {
      name: 'resolvable',
      severity: 'error',
      from: { pathNot: '^proto/gen/' },
      to: { couldNotResolve: true },
    },
    {
      name: 'domain-is-pure',
      severity: 'error',
      comment: 'Rules of the domain know no other room, so that they can be tested without any server.',
      from: { path: inRoom('domain'), pathNot: tests },
      to: { path: sameRoom('app|clients|events|grpc|http|jobs|store') },
    },
    {
      name: 'domain-does-no-io',
      severity: 'error',
      from: { path: inRoom('domain'), pathNot: tests },
      to: {
        path: '^packages/shared/src/(?:http|grpc|events|mongo)/|^packages/shared/src/(?:redis|service|lifecycle|log|metrics|health)\\.ts$|^node_modules/(?:mongoose|ioredis|amqplib|fastify|@grpc/grpc-js)/',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'app-gets-its-needs-as-arguments',
      severity: 'error',
      comment: 'What a use case needs of store and clients is handed to it, typed by `import type`.',
      from: { path: inRoom('app'), pathNot: tests },
      to: { path: sameRoom('store|clients'), dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'app-does-not-look-at-its-doors',
      severity: 'error',
      from: { path: inRoom('app'), pathNot: tests },
      to: { path: sameRoom('http|grpc|events|jobs') },
    },
    {
      name: 'doors-import-use-cases-only',
      severity: 'error',
      from: { path: inRoom('http|grpc|events|jobs'), pathNot: tests },
      to: { path: sameRoom('store|clients') },
    },
    ...['http', 'grpc', 'events', 'jobs'].map((door) => ({
      name: `${door}-ignores-other-doors`,
      severity: 'error',
      from: { path: inRoom(door), pathNot: tests },
      to: { path: sameRoom(['http', 'grpc', 'events', 'jobs'].filter((other) => other !== door).join('|')) },
    })),
    {
      name: 'store-and-clients-do-not-look-up',
      severity: 'error',
      from: { path: inRoom('store|clients'), pathNot: tests },
      to: { path: sameRoom('app|http|grpc|events|jobs') },
    },
    {
      name: 'only-main-composes',
      severity: 'error',
      comment: 'service.ts wires everything; nothing inside may know the whole.',
      from: { path: '^(?:services/[^/]+|gateway|sandbox)/src/', pathNot: `/src/main\\.ts$|${tests}` },
      to: { path: '^(?:services/[^/]+|gateway|sandbox)/src/service\\.ts$' },
    },
    {
      name: 'services-are-apart',
      severity: 'error',
      comment: 'Tests may start the sandbox in place of the outside world.',
      from: { path: '^services/([^/]+)/' },
      to: { path: '^(?:services/|gateway/|sandbox/)', pathNot: '^services/$1/|^sandbox/src/service\\.ts$' },
    },
    {
      name: 'only-tests-start-the-sandbox',
      severity: 'error',
      from: { path: '^(?:services|gateway)/', pathNot: tests },
      to: { path: '^sandbox/' },
    },
    {
      name: 'gateway-imports-no-service',
      severity: 'error',
      from: { path: '^gateway/' },
      to: { path: '^(?:services|sandbox)/' },
    },
    {
      name: 'sandbox-is-outside',
      severity: 'error',
      comment: 'It stands for other companies: it must not know our code.',
      from: { path: '^sandbox/src/' },
      to: { path: '^(?:services|gateway|proto)/' },
    },
    {
      name: 'shared-imports-no-service',
      severity: 'error',
      from: { path: '^packages/shared/' },
      to: { path: '^(?:services|gateway|sandbox)/' },
    },
    {
      name: 'events-need-only-zod',
      severity: 'error',
      comment: 'The catalogue of events can be read by whoever listens, without our code.',
      from: { path: '^proto/events/', pathNot: tests },
      to: { pathNot: '^proto/events/|node_modules/zod/' },
    },
    {
      name: 'mongoose-in-its-rooms-only',
      severity: 'error',
      from: {
        path: '^(?:services|gateway|sandbox|packages)/',
        pathNot: `/src/store/|^packages/shared/src/mongo/|${tests}`,
      },
      to: { path: 'node_modules/(?:mongoose|mongodb)/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'packages-are-declared',
      severity: 'error',
      comment: 'Production installs only what the package.json of the importing package itself names.',
      from: { path: '^(?:services|gateway|sandbox|packages|proto)/', pathNot: tests },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'] },
    },
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^proto/gen/' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      extensions: ['.ts', '.mjs', '.js', '.json'],
    },
  },
};
