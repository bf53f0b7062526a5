/** What `/health/live` and `/health/ready` answer (contract 10). */
interface DependencyHealth {
  state: 'up' | 'down';
  /** Whole milliseconds that the check took. */
  latency_ms: number;
  /** False where the process goes on without it, in a degraded way. */
  required: boolean;
}

interface Readiness {
  status: 'ready' | 'not_ready';
  dependencies: Record<string, DependencyHealth>;
}

export interface Health {
  /** Adds a dependency; `check` rejects when it is down. */
  add(name: string, check: () => Promise<unknown>, options?: { required?: boolean }): void;
  ready(): Promise<Readiness>;
  /** Until this is called the process is not ready, whatever its dependencies say. */
  started(): void;
  stopping(): void;
}

const CHECK_TIMEOUT_MS = 2_000;

const withTimeout = async (check: () => Promise<unknown>): Promise<void> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('health check timed out')), CHECK_TIMEOUT_MS);
  });
  try {
    await Promise.race([check(), late]);
  } finally {
    clearTimeout(timer);
  }
};

export const createHealth = (): Health => {
  const checks: { name: string; check: () => Promise<unknown>; required: boolean }[] = [];
  let phase: 'starting' | 'started' | 'stopping' = 'starting';
  const examine = async (entry: (typeof checks)[number]): Promise<[string, DependencyHealth]> => {
    const startedAt = performance.now();
    const state = await withTimeout(entry.check).then(
      () => 'up' as const,
      () => 'down' as const,
    );
    const latency = Math.round(performance.now() - startedAt);
    return [entry.name, { state, latency_ms: latency, required: entry.required }];
  };
  return {
    add: (name, check, { required = true } = {}) => void checks.push({ name, check, required }),
    started: () => {
      phase = 'started';
    },
    stopping: () => {
      phase = 'stopping';
    },
    ready: async () => {
      const dependencies = Object.fromEntries(await Promise.all(checks.map(examine)));
      const down = Object.values(dependencies).some(({ state, required }) => required && state === 'down');
      return { status: phase === 'started' && !down ? 'ready' : 'not_ready', dependencies };
    },
  };
};
