/** Checks the alert rules without Prometheus; alerts.long.test.ts runs them. */
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { alerts, listedMetrics, metricsOf, records, sectionOf } from './promql.ts';
import { read } from './support.ts';

interface Case {
  name: string;
  promql_expr_test: { expr: string; exp_samples: unknown[] }[];
}

const cases = ['alerts.test.yml', 'alerts.days.test.yml'].flatMap(
  (file) => (parse(read(`deploy/observability/${file}`)) as { tests: Case[] }).tests,
);
const guide = read('docs/guides/operators/alerts.md');
const [, ...sections] = guide.split(/^### /m).map((section) => section.split(/^## /m)[0] ?? '');

test('each alert has a section in the runbook, and no other section exists', () => {
  expect(sections.map((section) => section.split('\n')[0])).toEqual(alerts.map(({ alert }) => alert));
});

test.each(sections)(
  'a section says who is hurt, what to query, three commands, and whom to call: %.20s',
  (section) => {
    const [, hurt = '', query = '', commands = '', call = ''] =
      /\n- Hurt: (.+?)\n- Query: `(.+?)`\n- Commands:\n((?: {2}.+\n){3})- Call: (.+)\n/s.exec(section) ?? [];
    expect([hurt, query, commands].filter((text) => text === '')).toEqual([]);
    expect(commands.match(/^ {2}\d\. `.+`/gm)).toHaveLength(3);
    const roles = guide.match(/(?<=^\| \*\*)[a-z]+(?=\*\*)/gm);
    expect(roles).toEqual(expect.arrayContaining(call.replace(/\..*/s, '').split(/, | and /)));
  },
);

describe.each(alerts)('$alert', (rule) => {
  const { alert, expr, labels, annotations } = rule;

  test('an alert has a case in which it fires, a silent one, and one in which its source is down', () => {
    const own = cases.filter(({ name }) => name.split(' ')[0] === alert);
    expect(own.map(({ name }) => name)).toEqual([
      `${alert} fires`,
      `${alert} is silent`,
      `${alert} sees that its source is down`,
    ]);
    for (const { promql_expr_test: checks } of own)
      expect(checks[0]?.expr).toMatch(new RegExp(`\\b${alert}\\b`));
    expect(
      own.map(({ promql_expr_test: checks }) => checks.every(({ exp_samples }) => exp_samples.length > 0)),
    ).toEqual([true, false, true]);
    expect(['critical', 'warning']).toContain(labels.severity);
  });

  test('an alert reads metrics that the guide lists', () => {
    const listed = listedMetrics();
    for (const name of metricsOf(expr)) expect(listed).toContain(name);
  });

  test('an alert reads only values that are kept while their source is down, and `up`', () => {
    // An absent series and a value of two days ago have no last value.
    const read =
      expr.replace(/(?:absent|max_over_time)\(|\{[^}]*\}| offset 2d/g, '').match(/[a-z]\w*(?::\w+)*/g) ?? [];
    const series = read.filter((name) => /_/.test(name) && !name.startsWith('last:'));
    const exceptions = ['journal_free_bytes', 'audit_last_run_timestamp_seconds'];
    expect(series.filter((name) => !exceptions.includes(name))).toEqual([]);
  });

  test('the address of the section is made from one variable', () => {
    const { PUBLIC_BASE_URL } = { PUBLIC_BASE_URL: '{{ $externalLabels.public_base_url }}' };
    expect(annotations.runbook_url).toBe(`${PUBLIC_BASE_URL}/docs/alerts#${sectionOf(rule).split('#')[1]}`);
  });
});

test.each(records.filter(({ record }) => record.startsWith('last:')))(
  '$record keeps itself',
  ({ record, expr }) => {
    expect(expr).toMatch(new RegExp(`or \\(?${record}\\b`));
  },
);
