/** Reads the alert rules, and finds the metrics that alert and dashboard expressions read. */
import { parse } from 'yaml';
import { read } from './support.ts';

export interface Alert {
  alert: string;
  expr: string;
  /** Empty: the alert fires at the first evaluation. */
  for?: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
}

type Rule = Alert | { record: string; expr: string };

const { groups } = parse(read('deploy/observability/alerts.yml')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

export const alerts: readonly Alert[] = rules.filter((rule) => 'alert' in rule);
export const records = rules.filter((rule) => 'record' in rule);

/** The path of the section of an alert. */
export const sectionOf = ({ alert }: Alert): string =>
  `docs/guides/operators/alerts.md#${alert.toLowerCase()}`;

const WORDS = /[a-z]+(?:_[a-z0-9]+)+/g;
const RECORDED = /\b(?:last|objective):[\w:]+/g;

/** Metrics in an expression and in what it reads of recording rules, without histogram suffixes and those of Prometheus itself. */
export const metricsOf = (expr: string, within: readonly string[] = []): Set<string> => {
  const recorded = (expr.match(RECORDED) ?? []).filter((name) => !within.includes(name));
  const read = records.filter(({ record }) => recorded.includes(record));
  const names = expr
    .replace(RECORDED, '')
    .replace(/\{[^}]*\}|\[[^\]]*\]|"[^"]*"|\b(?:by|on) \([^)]*\)|\w+(?=\()/g, '')
    .match(WORDS);
  return new Set([
    ...(names ?? []).map((name) => name.replace(/_(?:bucket|count|sum)$/, '')),
    ...read.flatMap((rule) => [...metricsOf(rule.expr, [...within, ...recorded])]),
  ]);
};

/** Metrics that the operator guide lists; test/e2e/metrics.test.ts compares them with the processes. */
export const listedMetrics = (): Set<string> => new Set(read('docs/guides/operators/watch.md').match(WORDS));
