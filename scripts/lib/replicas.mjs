import { parseArgs } from 'node:util';
import { Failure } from './failure.mjs';
import { freePorts } from './ports.mjs';
import { programOf } from './process-definitions.mjs';

/** More replicas would only compete for the processors of one machine. */
const most = 5;

/** @param {string | boolean | undefined} value the value of `--replicas`; true if the option has no value */
function replicaCount(value = '1') {
  const count = Number(value);
  if (/^\d$/.test(String(value)) && count >= 1 && count <= most) return count;
  throw new Failure(
    `--replicas takes a whole number from 1 to ${most}${value === true ? '' : `; not "${value}"`}.`,
  );
}

/** @param {string[]} args of `scripts/start.mjs` @throws {Failure} lists the accepted arguments */
export function startOptions(args) {
  const options = /** @type {const} */ ({ dev: { type: 'boolean' }, replicas: { type: 'string' } });
  const { values, positionals, tokens } = parseArgs({
    args,
    options,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const isDev = values.dev === true;
  const unknown = tokens.find(
    (token) =>
      (token.kind === 'positional' && !isDev) || (token.kind === 'option' && !(token.name in options)),
  );
  if (unknown) {
    const usage = isDev
      ? 'npm run dev takes names of processes and --replicas'
      : 'npm start takes --replicas';
    throw new Failure(`${usage} <number>; not "${args[unknown.index]}".`);
  }
  return { isDev, named: positionals, replicas: replicaCount(values.replicas) };
}

/**
 * Ports of a process. The providers of a replica or a test use any free ones.
 * @param {import('./process-definitions.mjs').Process} part
 * @param {() => number} next
 * @returns {import('./process-definitions.mjs').Ports}
 */
export const portsOf = ({ ports: { provider: _provider, ...ports } }, next) =>
  /** @type {any} */ (Object.fromEntries(Object.keys(ports).map((kind) => [kind, next()])));

/**
 * Adds replicas of the gateway and of each service, on free ports. With replicas, a balancer takes the public port instead of the
 * gateway. The sandbox keeps its state in memory, so it has no replicas.
 * @param {import('./process-definitions.mjs').Process[]} parts
 * @param {import('./process-definitions.mjs').ProcessPorts} ports
 * @param {{ count: number, reserved?: number[] }} options reserved: the servers' ports
 */
export async function replicate(parts, ports, { count, reserved = [] }) {
  if (count === 1) return { parts, ports };
  const replicated = parts.filter(({ name }) => name !== 'sandbox');
  const usual = [...ports.values()].flatMap((own) => Object.values(own));
  const free = await freePorts(replicated.length * count * 3, [...usual, ...reserved]);
  const next = () => free.pop() ?? 0;
  const allPorts = new Map(ports);
  const gateway = ports.get('gateway');
  if (gateway) allPorts.set('gateway', { ...gateway, http: next() });
  const further = replicated.flatMap((part) =>
    Array.from({ length: count - 1 }, (_, index) => ({ ...part, name: `${part.name}-${index + 2}` })),
  );
  for (const part of further) allPorts.set(part.name, portsOf(part, next));
  return { parts: [...parts, ...further], ports: allPorts };
}

/** @param {{ name: string }} part */
const isFurtherGateway = ({ name }) => programOf(name) === 'gateway' && name !== 'gateway';

/**
 * Starts all parts at once, except that further gateways wait for the first one. Two gateways would create the demo data twice.
 * @param {Awaited<ReturnType<typeof replicate>>} product
 * @param {(part: import('./process-definitions.mjs').Process) => Promise<unknown>} start resolves when the part is ready
 * @param {(gateways: Map<string, number>) => Promise<unknown>} balance starts the balancer in front of these gateways, given by name and port
 */
export async function startInOrder({ parts, ports }, start, balance) {
  await Promise.all(parts.filter((part) => !isFurtherGateway(part)).map(start));
  const further = parts.filter(isFurtherGateway);
  if (further.length === 0) return;
  const gateways = [...ports].filter(([name]) => programOf(name) === 'gateway');
  await balance(new Map(gateways.map(([name, { http }]) => [name, http])));
  await Promise.all(further.map(start));
}
