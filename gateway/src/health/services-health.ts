/** The readiness of the services, requested from each service at every call. */

import { scaledDeadline } from '@fitness/shared/kernel/config.ts';
import type { Dispatcher } from 'undici';
import { z } from 'zod';
import { SERVICES, type Service } from '../request/routes.ts';

const TIMEOUT_MS = 2_500;

const readinessSchema = z.object({
  status: z.enum(['ready', 'not_ready']),
  dependencies: z.record(z.string(), z.looseObject({})),
});

export interface ServiceHealth {
  /** `down`: the service does not respond. */
  state: 'up' | 'down';
  /** `unknown` while the service is down. */
  status: 'ready' | 'not_ready' | 'unknown';
  /** Time until the response, in whole milliseconds. */
  latency_ms: number;
  dependencies: Record<string, unknown>;
}

const askService = async (agent: Dispatcher, url: string): Promise<ServiceHealth> => {
  const startedAt = performance.now();
  const elapsed = (): number => Math.round(performance.now() - startedAt);
  try {
    const signal = AbortSignal.timeout(scaledDeadline(TIMEOUT_MS));
    const { body } = await agent.request({ origin: url, path: '/health/ready', method: 'GET', signal });
    const { status, dependencies } = readinessSchema.parse(await body.json());
    return { state: 'up', status, latency_ms: elapsed(), dependencies };
  } catch {
    return { state: 'down', status: 'unknown', latency_ms: elapsed(), dependencies: {} };
  }
};

/** Requests the readiness of all services concurrently. Never rejects. */
export const askServices = async (
  agent: Dispatcher,
  urls: Record<Service, string>,
): Promise<Record<Service, ServiceHealth>> => {
  const answers = await Promise.all(
    SERVICES.map(async (service) => [service, await askService(agent, urls[service])] as const),
  );
  return Object.fromEntries(answers) as Record<Service, ServiceHealth>;
};

export const isReady = async (agent: Dispatcher, url: string): Promise<boolean> =>
  (await askService(agent, url)).status === 'ready';

export const areReady = async (agent: Dispatcher, urls: Record<Service, string>): Promise<boolean> =>
  Object.values(await askServices(agent, urls)).every(({ status }) => status === 'ready');
