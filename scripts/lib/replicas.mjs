import { readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { Failure } from './failure.mjs';
import { freePorts } from './ports.mjs';
import { programOf } from './process-definitions.mjs';

/** More would only share the processors of one machine. */
const most = 5;

/** @param {string | boolean | undefined} given the value of `--replicas`; true when it has none */
function replicaCount(given = '1') {
  const count = Number(given);
  if (/^\d$/.test(String(given)) && count >= 1 && count <= most) return count;
  throw new Failure(
    `--replicas takes a whole number from 1 to ${most}${given === true ? '' : `; not "${given}"`}.`,
  );
}

/**
 * @param {string[]} args of `scripts/start.mjs`
 * @throws {Failure} that says what is taken
 */
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
    const taken = isDev
      ? 'npm run dev takes names of processes and --replicas'
      : 'npm start takes --replicas';
    throw new Failure(`${taken} <number>; not "${args[unknown.index]}".`);
  }
  return { isDev, named: positionals, replicas: replicaCount(values.replicas) };
}

/**
 * Further replicas of the gateway and of each service, on free ports. With them, the gateways leave the public port to a balancer. The
 * sandbox keeps its state in memory, so that there is one.
 * @param {import('./process-definitions.mjs').Process[]} parts
 * @param {import('./process-definitions.mjs').ProcessPorts} ports
 * @param {{ count: number, reserved?: number[] }} options reserved: ports of the servers
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
  for (const { name, operationsPort } of further)
    allPorts.set(name, {
      http: next(),
      grpc: next(),
      ...(operationsPort ? { operations: next() } : {}),
    });
  return { parts: [...parts, ...further], ports: allPorts };
}

/** @param {{ name: string }} part */
const isFurtherGateway = ({ name }) => programOf(name) === 'gateway' && name !== 'gateway';

/**
 * All parts at once, but further gateways behind the first one: it creates the demo data, which two would create twice.
 * @param {Awaited<ReturnType<typeof replicate>>} product
 * @param {(part: import('./process-definitions.mjs').Process) => Promise<unknown>} start resolves when the part is ready
 * @param {(gateways: Map<string, number>) => Promise<unknown>} balance starts the balancer in front of several gateways, with their ports
 */
export async function startInOrder({ parts, ports }, start, balance) {
  await Promise.all(parts.filter((part) => !isFurtherGateway(part)).map(start));
  const further = parts.filter(isFurtherGateway);
  if (further.length === 0) return;
  const gateways = [...ports].filter(([name]) => programOf(name) === 'gateway');
  await balance(new Map(gateways.map(([name, { http }]) => [name, http])));
  await Promise.all(further.map(start));
}

/**
 * Those of an earlier start with more replicas would be shown with the present ones.
 * @param {string} directory of the logs
 * @param {import('./process-definitions.mjs').ProcessPorts} ports
 */
export function removeLogsOfOthers(directory, ports) {
  for (const file of readdirSync(directory, { withFileTypes: true })) {
    const name = basename(file.name, '.log');
    if (file.name.endsWith('.log') && programOf(name) !== name && !ports.has(name))
      rmSync(join(directory, file.name));
  }
}
