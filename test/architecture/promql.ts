/** What the expressions of alerts and dashboards read. */
import { read } from './support.ts';

const WORDS = /[a-z]+(?:_[a-z0-9]+)+/g;

/** The metrics of an expression, without the suffixes of histograms. `up` and `ALERTS`, which Prometheus makes itself, are left out. */
export const metricsOf = (expr: string): Set<string> => {
  const names = expr.replace(/\{[^}]*\}|\[[^\]]*\]|\bby \([^)]*\)|histogram_quantile/g, '').match(WORDS);
  return new Set((names ?? []).map((name) => name.replace(/_(?:bucket|count|sum)$/, '')));
};

/** Those that the operators' guide lists; test/e2e/metrics.test.ts compares it with the processes. */
export const listedMetrics = (): Set<string> => new Set(read('docs/guides/operators/watch.md').match(WORDS));
