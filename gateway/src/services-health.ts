/** The services' readiness, requested from each at the moment of the call. */
import { z } from 'zod';
import { SERVICES, type Service } from './routes.ts';

const TIMEOUT_MS = 2_500;

const readinessSchema = z.object({
  status: z.enum(['ready', 'not_ready']),
  dependencies: z.record(z.string(), z.looseObject({})),
});

export interface ServiceHealth {
  /** `down`: no answer. */
  state: 'up' | 'down';
  /** `unknown` while it is down. */
  status: 'ready' | 'not_ready' | 'unknown';
  /** Whole milliseconds until the answer. */
  latency_ms: number;
  dependencies: Record<string, unknown>;
}

const askService = async (url: string): Promise<ServiceHealth> => {
  const startedAt = performance.now();
  const elapsed = (): number => Math.round(performance.now() - startedAt);
  try {
    const response = await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    const { status, dependencies } = readinessSchema.parse(await response.json());
    return { state: 'up', status, latency_ms: elapsed(), dependencies };
  } catch {
    return { state: 'down', status: 'unknown', latency_ms: elapsed(), dependencies: {} };
  }
};

/** Concurrent; never rejects. */
export const askServices = async (urls: Record<Service, string>): Promise<Record<Service, ServiceHealth>> => {
  const answers = await Promise.all(
    SERVICES.map(async (service) => [service, await askService(urls[service])] as const),
  );
  return Object.fromEntries(answers) as Record<Service, ServiceHealth>;
};

export const isReady = async (url: string): Promise<boolean> => (await askService(url)).status === 'ready';

export const areReady = async (urls: Record<Service, string>): Promise<boolean> =>
  Object.values(await askServices(urls)).every(({ status }) => status === 'ready');
