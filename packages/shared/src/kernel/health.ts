/** The readiness of a process, as `/health/ready` shows it. */
import type { Metrics } from './metrics.ts';
import { finishesWithin } from './timing.ts';

interface DependencyHealth {
  state: 'up' | 'down';
  /** Duration of the check in whole milliseconds. */
  latency_ms: number;
  /** False: the process is ready without it, with reduced functionality. */
  required: boolean;
}

interface Readiness {
  status: 'ready' | 'not_ready';
  dependencies: Record<string, DependencyHealth>;
}

export interface Health {
  /** Adds a dependency; `check` rejects when it is down. */
  add(name: string, check: () => Promise<unknown>, options?: { required?: boolean }): void;
  readiness(): Promise<Readiness>;
  /** Adds `server_up`. Each scrape runs the checks of the servers, whose deadline keeps the series complete. */
  addMetrics(metrics: Pick<Metrics, 'readGauges'>): void;
  /** The process is not ready before this call. */
  markStarted(): void;
  markStopping(): void;
  /** Calls `listener` when the process begins to stop. */
  onStopping(listener: () => void): void;
}

/** Less than gauges may take to be read. */
const CHECK_TIMEOUT_MS = 2_000;
const SERVERS: readonly string[] = ['mongodb', 'redis', 'rabbitmq'];

const isUp = async (check: () => Promise<unknown>): Promise<boolean> => {
  try {
    return await finishesWithin(check(), CHECK_TIMEOUT_MS);
  } catch {
    return false;
  }
};

export const createHealth = (): Health => {
  const checks: { name: string; check: () => Promise<unknown>; required: boolean }[] = [];
  const listeners: (() => void)[] = [];
  let phase: 'starting' | 'started' | 'stopping' = 'starting';
  const examine = async (entry: (typeof checks)[number]): Promise<[string, DependencyHealth]> => {
    const startedAt = performance.now();
    const state = (await isUp(entry.check)) ? 'up' : 'down';
    const latency = Math.round(performance.now() - startedAt);
    return [entry.name, { state, latency_ms: latency, required: entry.required }];
  };
  return {
    add: (name, check, { required = true } = {}) => void checks.push({ name, check, required }),
    addMetrics: (metrics) =>
      metrics.readGauges({
        gauges: { server_up: '1 if this process gets a response from the server, otherwise 0' },
        labelNames: ['server'],
        read: async () => {
          const servers = checks.filter(({ name }) => SERVERS.includes(name));
          const states = await Promise.all(servers.map(examine));
          return states.map(([server, { state }]) => ({
            labels: { server },
            values: { server_up: state === 'up' ? 1 : 0 },
          }));
        },
      }),
    markStarted: () => {
      phase = 'started';
    },
    markStopping: () => {
      phase = 'stopping';
      for (const listener of listeners) listener();
    },
    onStopping: (listener) => void listeners.push(listener),
    readiness: async () => {
      const dependencies = Object.fromEntries(await Promise.all(checks.map(examine)));
      const down = Object.values(dependencies).some(({ state, required }) => required && state === 'down');
      return { status: phase === 'started' && !down ? 'ready' : 'not_ready', dependencies };
    },
  };
};
