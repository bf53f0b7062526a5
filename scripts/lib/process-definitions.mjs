import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './paths.mjs';

/**
 * @typedef {object} Process a process of the product
 * @property {string} name `wallet`; further replicas have a number: `wallet-2`
 * @property {string} main
 * @property {'gateway' | 'service'} tier
 * @property {number} httpPort the default
 * @property {number} [grpcPort]
 * @property {number} [operationsPort]
 * @property {number} [providerPort] the first port of the emulated providers
 * @property {number} [smtpPort] port of the emulated SMTP relay
 * @property {string} readyPath
 */

/** Titles of the emulated providers in the order of their ports. This Node may not run TypeScript, and packages may be missing. */
export const emulatedProviders = [
  ...readFileSync(join(root, 'sandbox/src/providers/index.ts'), 'utf8').matchAll(/\{ title: '([^']+)'/g),
].map(([, title]) => title);

export const services = ['identity', 'wallet', 'gyms', 'content', 'media', 'store-billing'];

/** @type {Process[]} in the order of start and display */
export const processes = [
  {
    name: 'sandbox',
    main: join(root, 'sandbox/src/main.ts'),
    tier: 'service',
    httpPort: 8090,
    providerPort: 8091,
    smtpPort: 8089,
    readyPath: '/health/live',
  },
  ...services.map((name, index) => ({
    name,
    main: join(root, 'services', name, 'src/main.ts'),
    tier: /** @type {const} */ ('service'),
    httpPort: 8101 + index,
    grpcPort: 9101 + index,
    readyPath: '/health/ready',
  })),
  {
    name: 'gateway',
    main: join(root, 'gateway/src/main.ts'),
    tier: 'gateway',
    httpPort: 8080,
    grpcPort: 9100,
    operationsPort: 8081,
    readyPath: '/health/ready',
  },
];

/** The process that `name` is a replica of: `wallet-2` → `wallet`, `wallet` → `wallet` @param {string} name */
export const programOf = (name) => name.replace(/-\d+$/, '');

/** `store-billing` → `STORE_BILLING` @param {string} name */
export const variablePrefix = (name) => name.toUpperCase().replaceAll('-', '_');

/** @typedef {Map<string, { http: number, grpc?: number, operations?: number, providers?: number, smtp?: number }>} ProcessPorts */

/**
 * The ports of the environment, or the default ones.
 * @param {Process[]} selected
 * @returns {ProcessPorts}
 */
export function usualPorts(selected) {
  return new Map(
    selected.map(({ name, httpPort, grpcPort, operationsPort, providerPort, smtpPort }) => {
      const prefix = variablePrefix(name);
      return [
        name,
        {
          http: portFrom(`${prefix}_HTTP_PORT`, httpPort),
          ...(grpcPort ? { grpc: portFrom(`${prefix}_GRPC_PORT`, grpcPort) } : {}),
          ...(operationsPort ? { operations: portFrom(`${prefix}_OPERATIONS_PORT`, operationsPort) } : {}),
          ...(providerPort ? { providers: portOrFree(`${prefix}_PROVIDER_PORT`, providerPort) } : {}),
          ...(smtpPort ? { smtp: portFrom(`${prefix}_SMTP_PORT`, smtpPort) } : {}),
        },
      ];
    }),
  );
}

/** @param {ProcessPorts} ports @returns {import('./ports.mjs').PortNeed[]} */
export function portNeeds(ports) {
  return [...ports].flatMap(([name, { http, grpc, operations, providers, smtp }]) => {
    const prefix = variablePrefix(name);
    return [
      { port: http, part: `the ${name}`, variable: `${prefix}_HTTP_PORT` },
      ...(grpc ? [{ port: grpc, part: `the ${name} (gRPC)`, variable: `${prefix}_GRPC_PORT` }] : []),
      ...(operations
        ? [{ port: operations, part: `the ${name} (operations)`, variable: `${prefix}_OPERATIONS_PORT` }]
        : []),
      ...(smtp ? [{ port: smtp, part: `the ${name} (SMTP)`, variable: `${prefix}_SMTP_PORT` }] : []),
      ...(providers
        ? emulatedProviders.map((title, index) => ({
            port: providers + index,
            part: `the ${name} (${title})`,
            variable: `${prefix}_PROVIDER_PORT`,
          }))
        : []),
    ];
  });
}

/** The port of each inspector. Editors expect the first one by default. @param {string[]} names */
export const inspectorPorts = (names) =>
  new Map(names.map((name, index) => [name, portFrom('INSPECTOR_PORT', 9229) + index]));

/** @param {Map<string, number>} inspectors @returns {import('./ports.mjs').PortNeed[]} */
export const inspectorPortNeeds = (inspectors) =>
  [...inspectors].map(([name, port]) => ({
    port,
    part: `the inspector of ${name}`,
    variable: 'INSPECTOR_PORT',
  }));

/**
 * Server ports, far from the standard ones, which the system's MongoDB, Redis or RabbitMQ may use.
 * @returns {import('./servers/candidate.mjs').ServerPorts}
 */
export const usualServerPorts = () => ({
  mongodb: portFrom('MONGODB_PORT', 27117),
  redis: portFrom('REDIS_PORT', 6479),
  rabbitmq: portFrom('RABBITMQ_PORT', 5772),
  rabbitmqDistribution: portFrom('RABBITMQ_DISTRIBUTION_PORT', 25772),
  epmd: portFrom('EPMD_PORT', 4469),
});

/**
 * Ports of the servers that this script itself starts.
 * @param {import('./servers/candidate.mjs').ServerPorts} ports
 * @returns {import('./ports.mjs').PortNeed[]}
 */
export function serverPortNeeds(ports) {
  const needs = [];
  if (!process.env.MONGODB_URI) {
    needs.push({ port: ports.mongodb, part: 'MongoDB', variable: 'MONGODB_PORT' });
  }
  if (!process.env.REDIS_URL) needs.push({ port: ports.redis, part: 'Redis', variable: 'REDIS_PORT' });
  if (!process.env.AMQP_URL) {
    needs.push(
      { port: ports.rabbitmq, part: 'RabbitMQ', variable: 'RABBITMQ_PORT' },
      {
        port: ports.rabbitmqDistribution,
        part: 'RabbitMQ (distribution)',
        variable: 'RABBITMQ_DISTRIBUTION_PORT',
      },
      { port: ports.epmd, part: 'RabbitMQ (epmd)', variable: 'EPMD_PORT' },
    );
  }
  return needs;
}

/** @param {string} variable @param {number} usual */
function portFrom(variable, usual) {
  const port = Number(process.env[variable]);
  return Number.isInteger(port) && port > 0 && port < 65_536 ? port : usual;
}

/** The port for a process; 0 means any free port. @param {string} variable @param {number} usual */
const portOrFree = (variable, usual) => (process.env[variable] === '0' ? 0 : portFrom(variable, usual));
