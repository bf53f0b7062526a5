/** Finds the metrics that alert and dashboard expressions read. */
import { read } from './support.ts';

const WORDS = /[a-z]+(?:_[a-z0-9]+)+/g;

/** Metrics in an expression, without histogram suffixes. `up` and `ALERTS` are omitted, since Prometheus creates them. */
export const metricsOf = (expr: string): Set<string> => {
  const names = expr.replace(/\{[^}]*\}|\[[^\]]*\]|\bby \([^)]*\)|histogram_quantile/g, '').match(WORDS);
  return new Set((names ?? []).map((name) => name.replace(/_(?:bucket|count|sum)$/, '')));
};

/** Metrics that the operator guide lists; test/e2e/metrics.test.ts compares them with the processes. */
export const listedMetrics = (): Set<string> => new Set(read('docs/guides/operators/watch.md').match(WORDS));
