/**
 * Who may import whom (the reasons are in ARCHITECTURE.md). Run by scripts/check-architecture.mjs.
 * `$1` in `pathNot` is what the group in `from.path` has matched: the same service.
 */
const inModule = (names) => `^services/([^/]+)/src/(?:${names})/`;
const sameModule = (names) => `^services/$1/src/(?:${names})/`;
const tests = '\\.test\\.ts$|/test/|/testing/|testing\\.ts$';
/**
 * The folders of `base`, each with those that it may import. A pattern is the beginning of a path below `base`.
 * Files of `base` itself compose the folders.
 */
const walls = (base, folders, alsoAllowed = []) =>
  Object.entries(folders).map(([folder, below]) => ({
    name: `${base}/${folder} imports no folder above it`,
    severity: 'error',
    from: { path: `^${base}/${folder}`, pathNot: tests },
    to: { path: `^${base}/(?!${[folder, ...below, ...alsoAllowed].join('|')})` },
  }));
const identityOfProcesses = 'process-identity/[^/]+$';

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
      comment: 'A client that the long tests generate is not among the sources.',
      from: { pathNot: ['^proto/gen/', '^test/clients/typescript-fetch/'] },
      to: { couldNotResolve: true },
    },
    {
      name: 'domain-is-pure',
      severity: 'error',
      comment: 'The domain imports no other module, so that it is tested without any server.',
      from: { path: inModule('domain'), pathNot: tests },
      to: { path: sameModule('app|channels|clients|events|grpc|http|jobs|store') },
    },
    {
      name: 'domain-does-no-io',
      severity: 'error',
      from: { path: inModule('domain'), pathNot: tests },
      to: {
        path: '^packages/shared/src/(?:http|grpc|messaging|mongo|runtime)/|^packages/shared/src/kernel/(?:log|metrics|health)\\.ts$|^node_modules/(?:mongoose|ioredis|amqplib|fastify|@grpc/grpc-js)/',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'app-gets-its-needs-as-arguments',
      severity: 'error',
      comment: 'What a use case needs of store and clients is handed to it, typed by `import type`.',
      from: { path: inModule('app'), pathNot: tests },
      to: { path: sameModule('store|clients'), dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'app-does-not-import-transports',
      severity: 'error',
      from: { path: inModule('app'), pathNot: tests },
      to: { path: sameModule('http|grpc|events|jobs') },
    },
    {
      name: 'transports-import-use-cases-only',
      severity: 'error',
      from: { path: inModule('http|grpc|events|jobs'), pathNot: tests },
      to: { path: sameModule('store|clients') },
    },
    ...['http', 'grpc', 'events', 'jobs'].map((transport) => ({
      name: `${transport}-imports-no-other-transport`,
      severity: 'error',
      from: { path: inModule(transport), pathNot: tests },
      to: {
        path: sameModule(['http', 'grpc', 'events', 'jobs'].filter((other) => other !== transport).join('|')),
      },
    })),
    {
      name: 'store-and-clients-import-no-use-case',
      severity: 'error',
      from: { path: inModule('store|clients'), pathNot: tests },
      to: { path: sameModule('app|http|grpc|events|jobs') },
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
      to: {
        path: '^(?:services/|gateway/|sandbox/)',
        pathNot: '^services/$1/|^sandbox/src/(?:service|providers/index)\\.ts$',
      },
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
      name: 'the-demo-is-a-client-of-the-api',
      severity: 'error',
      from: { path: '^packages/demo/' },
      to: { path: '^(?:packages|proto)/', pathNot: `^packages/demo/|^packages/shared/src/kernel/|${tests}` },
    },
    {
      name: 'packages-import-no-service',
      severity: 'error',
      from: { path: '^packages/' },
      to: { path: '^(?:services|gateway|sandbox)/' },
    },
    ...walls('packages/shared/src', {
      'kernel/': [],
      'mongo/': ['kernel/'],
      'pages/': ['kernel/'],
      'messaging/': ['kernel/', 'mongo/'],
      'lists/': ['kernel/', 'mongo/'],
      'audit/': ['kernel/', 'mongo/'],
      [identityOfProcesses]: ['kernel/'],
      'process-identity/provisioning/': [identityOfProcesses, 'kernel/', 'mongo/', 'messaging/', 'audit/'],
      'http/': ['kernel/', identityOfProcesses, 'audit/actions\\.ts$'],
      'grpc/': ['kernel/', identityOfProcesses],
      'runtime/': ['kernel/', 'mongo/', 'messaging/', 'audit/', identityOfProcesses, 'http/', 'grpc/'],
    }),
    ...walls('services/identity/src/app', {
      'roles/': [],
      'notifications/': [],
      'licenses/': ['notifications/'],
      'sign-in/': ['roles/', 'notifications/'],
      'credentials/': ['sign-in/', 'notifications/'],
      'accounts/': ['sign-in/', 'roles/', 'notifications/'],
      'deletion/': ['sign-in/', 'roles/', 'notifications/'],
    }),
    ...walls(
      'gateway/src',
      {
        'request/': [],
        'api/': ['request/'],
        'health/': ['request/'],
        'mcp/': ['request/'],
        'pages/': ['request/', 'api/', 'health/'],
      },
      ['(?:dependencies|config)\\.ts$'],
    ),
    {
      name: 'gateway-gets-its-dependencies-as-arguments',
      severity: 'error',
      from: { path: '^gateway/src/[^/]+/', pathNot: tests },
      to: { path: '^gateway/src/(?:dependencies|config)\\.ts$', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-process-provisions',
      severity: 'error',
      comment: 'The users of the servers are made by commands of operators.',
      from: { pathNot: `^packages/shared/src/process-identity/provisioning/|^test/|${tests}` },
      to: { path: '^packages/shared/src/process-identity/provisioning/' },
    },
    {
      name: 'nothing-imports-a-benchmark',
      severity: 'error',
      from: { pathNot: '^bench/' },
      to: { path: '^bench/' },
    },
    {
      name: 'shared-imports-no-contracts',
      severity: 'error',
      from: { path: '^packages/shared/' },
      to: { path: '^packages/contracts/' },
    },
    {
      name: 'events-need-only-zod',
      severity: 'error',
      comment: 'The catalogue of events is readable without our code.',
      from: { path: '^proto/events/', pathNot: tests },
      to: { pathNot: '^proto/events/|node_modules/zod/' },
    },
    {
      name: 'mongoose-in-stores-only',
      severity: 'error',
      from: {
        path: '^(?:services|gateway|sandbox|packages)/',
        pathNot: `/src/store/|^packages/shared/src/(?:mongo|(?:audit|messaging)/models\\.ts)|${tests}`,
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
