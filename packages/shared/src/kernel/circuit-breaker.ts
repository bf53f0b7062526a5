/** A circuit breaker around the calls to one target, with its state in the metrics. */
import CircuitBreaker from 'opossum';
import type { Metrics } from './metrics.ts';

interface CircuitBreakerOptions {
  /** The name of the target in the metrics. */
  target: string;
  metrics: Metrics | undefined;
  /** How long an open breaker waits before it lets a call through again. */
  resetTimeoutMs: number;
  /** Errors that are not failures of the target. None by default. */
  isRefusal?: (error: Error) => boolean;
}

/** Opens when half of at least ten calls within ten seconds have failed. `call` limits its own duration. */
export const createCircuitBreaker = <Args extends unknown[], Result>(
  call: (...args: Args) => Promise<Result>,
  { target, metrics, resetTimeoutMs, isRefusal = () => false }: CircuitBreakerOptions,
): CircuitBreaker<Args, Result> => {
  const breaker = new CircuitBreaker(call, {
    timeout: false,
    volumeThreshold: 10,
    errorThresholdPercentage: 50,
    rollingCountTimeout: 10_000,
    resetTimeout: resetTimeoutMs,
    errorFilter: isRefusal,
    // The quantiles of opossum are not used. It would store every duration and sort them each second.
    rollingPercentilesEnabled: false,
    enableSnapshots: false,
  });
  metrics?.breakerOpen.set({ target }, 0);
  breaker.on('open', () => metrics?.breakerOpen.set({ target }, 1));
  breaker.on('close', () => metrics?.breakerOpen.set({ target }, 0));
  return breaker;
};
