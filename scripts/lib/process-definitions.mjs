import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './paths.mjs';

/**
 * @typedef {object} Process a process of the product
 * @property {string} name `wallet`; further replicas have a number: `wallet-2`
 * @property {string} main
 * @property {'gateway' | 'service'} tier
 * @property {Ports} ports the default ones
 * @property {string} readyPath
 *
 * @typedef {{ http: number, grpc?: number, operations?: number, provider?: number, smtp?: number }} Ports
 *   provider: the first port of the emulated providers; smtp: that of the emulated SMTP relay
 * @typedef {Map<string, Ports>} ProcessPorts
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
    ports: { http: 8090, provider: 8091, smtp: 8089 },
    readyPath: '/health/live',
  },
  ...services.map((name, index) => ({
    name,
    main: join(root, 'services', name, 'src/main.ts'),
    tier: /** @type {const} */ ('service'),
    ports: { http: 8101 + index, grpc: 9101 + index },
    readyPath: '/health/ready',
  })),
  {
    name: 'gateway',
    main: join(root, 'gateway/src/main.ts'),
    tier: 'gateway',
    ports: { http: 8080, grpc: 9100, operations: 8081 },
    readyPath: '/health/ready',
  },
];

/** The process that `name` is a replica of: `wallet-2` → `wallet`, `wallet` → `wallet` @param {string} name */
export const programOf = (name) => name.replace(/-\d+$/, '');

/** `store-billing` → `STORE_BILLING` @param {string} name */
export const variablePrefix = (name) => name.toUpperCase().replaceAll('-', '_');

/** The environment variable that changes a port. @param {string} name @param {string} kind */
const portVariable = (name, kind) => `${variablePrefix(name)}_${kind.toUpperCase()}_PORT`;

/** The ports of the environment, or the default ones. @param {Process[]} selected @returns {ProcessPorts} */
export function usualPorts(selected) {
  return new Map(
    selected.map(({ name, ports }) => {
      const chosen = Object.entries(ports).map(([kind, port]) => [
        kind,
        portFrom(portVariable(name, kind), port),
      ]);
      return [name, Object.fromEntries(chosen)];
    }),
  );
}

/** The names of ports in messages. @type {Record<string, string[]>} */
const portTitles = {
  http: [''],
  grpc: [' (gRPC)'],
  operations: [' (operations)'],
  smtp: [' (SMTP)'],
  provider: emulatedProviders.map((provider) => ` (${provider})`),
};

/** @param {ProcessPorts} ports @returns {import('./ports.mjs').PortNeed[]} */
export const portNeeds = (ports) =>
  [...ports].flatMap(([name, own]) =>
    Object.entries(own)
      .filter(([, first]) => first > 0)
      .flatMap(([kind, first]) =>
        (portTitles[kind] ?? []).map((title, index) => ({
          port: first + index,
          part: `the ${name}${title}`,
          variable: portVariable(name, kind),
        })),
      ),
  );

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

/** Far from the standard ports, which the system's MongoDB, Redis or RabbitMQ may use. A given server needs none. */
const serverPorts = [
  { key: 'mongodb', usual: 27_117, part: 'MongoDB', variable: 'MONGODB_PORT', given: 'MONGODB_URI' },
  { key: 'redis', usual: 6_479, part: 'Redis', variable: 'REDIS_PORT', given: 'REDIS_URL' },
  { key: 'rabbitmq', usual: 5_772, part: 'RabbitMQ', variable: 'RABBITMQ_PORT', given: 'AMQP_URL' },
  {
    key: 'rabbitmqDistribution',
    usual: 25_772,
    part: 'RabbitMQ (distribution)',
    variable: 'RABBITMQ_DISTRIBUTION_PORT',
    given: 'AMQP_URL',
  },
  { key: 'epmd', usual: 4_469, part: 'RabbitMQ (epmd)', variable: 'EPMD_PORT', given: 'AMQP_URL' },
];

/** @returns {import('./servers/candidate.mjs').ServerPorts} */
export const usualServerPorts = () =>
  /** @type {any} */ (
    Object.fromEntries(serverPorts.map(({ key, usual, variable }) => [key, portFrom(variable, usual)]))
  );

/** The ports of the servers that this script itself starts. @returns {import('./ports.mjs').PortNeed[]} */
export const serverPortNeeds = () =>
  serverPorts
    .filter(({ given }) => !process.env[given])
    .map(({ usual, part, variable }) => ({ port: portFrom(variable, usual), part, variable }));

/** 0 stands for any free port, which only the emulated providers may have. @param {string} variable @param {number} usual */
function portFrom(variable, usual) {
  const port = Number(process.env[variable] || usual);
  const least = variable.endsWith('_PROVIDER_PORT') ? 0 : 1;
  return Number.isInteger(port) && port >= least && port < 65_536 ? port : usual;
}
