/**
 * The maximum cost of a request: database commands, and calls of other services. Each request has an id, which follows it
 * through all its asynchronous work and calls, even if it does not await them. This separates it from work of the process itself
 * (the outbox, leases, seals, jobs, consumers), whatever collection that uses.
 */
import { randomUUID } from 'node:crypto';
import { API_PREFIX } from '../http/gateway-protocol.ts';
import type { Caller } from '../kernel/caller.ts';
import { currentTrace } from '../kernel/trace.ts';
import { isWriteConflict } from '../mongo/transaction.ts';
import { monitoredConnection, toSent } from './commands.ts';
import { eventually, onStandInCall, type Send } from './harness.ts';
import { createShardCheck, type Shards } from './shards.ts';

interface CostlyRequest {
  /** Below `/api/v1`. By default that of the route. */
  path?: string;
  as?: Caller;
  body?: unknown;
  headers?: Record<string, string>;
}

/** A row of the table of a service. */
export interface RouteCost {
  /** Method and path as in the list of routes, then a query, then the case in parentheses: `GET /posts?page=2 (few)`. */
  route: string;
  as: Caller;
  /** The most commands that a request to a warm process sends, or these commands, sorted: `find posts`. */
  commands: number | readonly string[];
  /** gRPC methods of other services, sorted. */
  calls?: readonly string[];
  /** Status of the response if it is an error. */
  status?: number;
  /** Prepares one request; its own commands are not counted. */
  request?: () => CostlyRequest | Promise<CostlyRequest>;
}

interface Cost {
  commands: string[];
  calls: string[];
}

interface Run extends Cost {
  /** Its transaction was repeated, because something else wrote the same document. */
  isDisturbed: boolean;
}

const RUNS = 3;
/** A request that always conflicts with itself is measured with its repetitions. */
const DISTURBED_RUNS = 5;
/** How long work that a request does not await may take. */
const FOLLOW_UP_MS = 5_000;

const partsOf = (route: string) => {
  const [, method = '', path = '', query = ''] = /^(\S+) ([^\s?]+)(\?\S+)?/.exec(route) ?? [];
  return { method, path, query };
};

const numberOf = ({ commands }: RouteCost): number =>
  typeof commands === 'number' ? commands : commands.length;

const isAs = ({ commands, calls = [] }: RouteCost, run: Cost): boolean =>
  run.calls.toSorted().join() === calls.join() &&
  (typeof commands === 'number'
    ? run.commands.length === commands
    : run.commands.toSorted().join() === commands.join());

const isMore = (row: RouteCost, { commands, calls }: Cost): boolean =>
  commands.length > numberOf(row) || calls.length > (row.calls?.length ?? 0);

/**
 * No run may cost more, and one must cost as much. One may cost less: a read that the process makes at that moment for others
 * can be shared.
 */
const faultsOf = (row: RouteCost, runs: readonly Cost[]): Cost[] => {
  const more = runs.filter((run) => isMore(row, run));
  const faults = more.length > 0 || runs.some((run) => isAs(row, run)) ? more : runs;
  return faults.map(({ commands, calls }) => ({ commands: commands.toSorted(), calls: calls.toSorted() }));
};

/**
 * `database`: the database of a service of this process that runs with `monitored`. `send` sends a request to the service at
 * `url`. `shards`: the shards of the service.
 */
export const openCostMeter = async (
  database: string,
  { send, url }: { send: Send; url: string },
  shards: Shards,
  followUpMs = FOLLOW_UP_MS,
) => {
  const connection = monitoredConnection(database);
  const requests = new Map<string, Run>();
  const current = (): Run | undefined => requests.get(currentTrace()?.requestId ?? '');
  /** Runs by the id of the command. */
  const senders = new Map<number, Run>();
  const shardCheck = createShardCheck(shards);
  const shardFaults = new Set<string>();
  const client = connection.getClient();
  client.on('commandStarted', ({ commandName, command, requestId }) => {
    for (const fault of shardCheck.faults([toSent(commandName, command)])) shardFaults.add(fault);
    const run = current();
    if (run === undefined) return;
    const collection = command[commandName];
    run.commands.push(typeof collection === 'string' ? `${commandName} ${collection}` : commandName);
    senders.set(requestId, run);
  });
  client.on('commandFailed', ({ requestId, failure }) => {
    const run = senders.get(requestId);
    if (run !== undefined && isWriteConflict(failure)) run.isDisturbed = true;
  });
  onStandInCall((method) => current()?.calls.push(method));

  const runOf = async ({ route, as, status, request }: RouteCost): Promise<Run> => {
    const { method, path, query } = partsOf(route);
    const prepared = await request?.();
    const id = `cost-${randomUUID()}`;
    const run: Run = { commands: [], calls: [], isDisturbed: false };
    requests.set(id, run);
    const answer = await send(method, prepared?.path ?? `${path}${query}`, {
      as,
      ...prepared,
      headers: { ...prepared?.headers, 'x-request-id': id },
    });
    if (answer.status !== status && answer.status >= 400)
      throw new Error(`${route}: ${answer.status} ${answer.text}`);
    return run;
  };
  const undisturbed = async (row: RouteCost, left = DISTURBED_RUNS): Promise<Run> => {
    const run = await runOf(row);
    // The window of a limit that many requests share begins with one of them. What costs more every time remains a fault.
    const beginsWindow = isMore(row, run) && run.commands.includes('insert rate_limits');
    return (run.isDisturbed || beginsWindow) && left > 0 ? undisturbed(row, left - 1) : run;
  };

  const runsOf = new Map<RouteCost, Run[]>();
  let reading: Promise<Map<string, string[]>> | undefined;
  const parametersOf = (): Promise<Map<string, string[]>> => {
    reading ??= readParameters(url);
    return reading;
  };
  /** An unknown parameter is ignored, so its row would measure another request. */
  const assertParameters = async ({ route }: RouteCost): Promise<void> => {
    const { method, path, query } = partsOf(route);
    for (const name of new URLSearchParams(query).keys())
      if ((await parametersOf()).get(`${method} ${path}`)?.includes(name) !== true)
        throw new Error(`${route}: there is no parameter ${name}`);
  };

  return {
    /** The runs whose cost differs from the row. The first run is not measured, because it fills the caches of the process. */
    faults: async (row: RouteCost): Promise<Cost[]> => {
      await assertParameters(row);
      await runOf(row);
      const runs: Run[] = [];
      for (let run = 0; run < RUNS; run += 1) runs.push(await undisturbed(row));
      runsOf.set(row, runs);
      const isDecided = (): boolean => runs.some((run) => isAs(row, run) || isMore(row, run));
      await eventually(isDecided, { timeoutMs: followUpMs }).catch(() => undefined);
      const faults = faultsOf(row, runs);
      if (faults.length > 0) runsOf.delete(row);
      return faults;
    },
    /** The rows whose requests had the stated cost at first, but then sent more. */
    late: (): string[] =>
      [...runsOf].flatMap(([row, runs]) => (faultsOf(row, runs).length === 0 ? [] : [row.route])),
    /**
     * Commands of any request, job or consumer of the process that a cluster of shards would refuse, or that ask every shard
     * without being listed.
     */
    shardFaults: (): string[] => [...shardFaults],
    /** The public routes of the service, sorted. */
    routes: async (): Promise<string[]> => [...(await parametersOf()).keys()].toSorted(),
  };
};

/** The names of the parameters of each public route of a service, by method and path. */
const readParameters = async (url: string): Promise<Map<string, string[]>> => {
  const response = await fetch(`${url}/internal/openapi.json`);
  const { paths } = (await response.json()) as {
    paths: Record<string, Record<string, { parameters?: { name: string }[] }>>;
  };
  return new Map(
    Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, { parameters = [] }]) => {
        const ownPath = path.slice(API_PREFIX.length).replaceAll(/\{(\w+)\}/g, ':$1');
        return [`${method.toUpperCase()} ${ownPath}`, parameters.map(({ name }) => name)];
      }),
    ),
  );
};

/** The routes that have a row, sorted. */
export const routesWithCosts = (rows: readonly RouteCost[]): string[] =>
  [
    ...new Set(rows.map(({ route }) => partsOf(route)).map(({ method, path }) => `${method} ${path}`)),
  ].toSorted();
