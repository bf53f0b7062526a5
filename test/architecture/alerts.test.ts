/** Checks the alert rules without Prometheus; alerts.long.test.ts runs them. */
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { listedMetrics, metricsOf } from './promql.ts';
import { read } from './support.ts';

interface Rule {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; runbook: string };
}

const { groups } = parse(read('deploy/observability/alerts.yml')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const { tests } = parse(read('deploy/observability/alerts.test.yml')) as {
  tests: { name: string; promql_expr_test: { expr: string; exp_samples: unknown[] }[] }[];
};

test('each alert has a section in the guide, and no other section exists', () => {
  const sections = read('docs/guides/operators/alerts.md').match(/(?<=^### )\w+$/gm);
  expect(sections).toEqual(rules.map(({ alert }) => alert));
  for (const { alert, annotations } of rules)
    expect(annotations.runbook).toBe(`docs/guides/operators/alerts.md#${alert.toLowerCase()}`);
});

describe.each(rules)('$alert', ({ alert, expr, labels }) => {
  test('an alert has a firing and a silent case', () => {
    const cases = tests.filter(({ name }) => name === `${alert} fires` || name === `${alert} is silent`);
    const expected = cases.map(({ promql_expr_test: [sample] }) => sample?.exp_samples.length);
    expect(expected).toEqual([1, 0]);
    for (const { promql_expr_test } of cases) expect(promql_expr_test[0]?.expr).toContain(`"${alert}"`);
    expect(['critical', 'warning']).toContain(labels.severity);
  });

  test('an alert reads metrics that the guide lists', () => {
    const listed = listedMetrics();
    for (const name of metricsOf(expr)) expect(listed).toContain(name);
  });
});
