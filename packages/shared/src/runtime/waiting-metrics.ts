/** Metrics of work that waits for a provider or for an operator, in the service that owns it. */
import { type Clock, SECOND_MS } from '../kernel/clock.ts';
import type { Metrics } from '../kernel/metrics.ts';
import type { Waiting } from '../mongo/waiting.ts';

/** `read`: waiting work by kind, which becomes a label. */
export const addWaitingMetrics = (
  { metrics, clock }: { metrics: Metrics; clock: Clock },
  read: () => Promise<Record<string, Waiting>>,
): void => {
  metrics.readGauges({
    gauges: {
      waiting_cases: 'Cases that wait for a provider or for an operator',
      waiting_oldest_case_age_seconds: 'Age of the oldest of them; 0 without one',
    },
    labelNames: ['kind'],
    read: async () =>
      Object.entries(await read()).map(([kind, { count, oldest }]) => ({
        labels: { kind },
        values: {
          waiting_cases: count,
          waiting_oldest_case_age_seconds:
            oldest === null ? 0 : Math.max(0, (clock.now().getTime() - oldest.getTime()) / SECOND_MS),
        },
      })),
  });
};
