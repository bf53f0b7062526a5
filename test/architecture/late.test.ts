/** `/ops` and the alerts agree on when a case is late. */
import { expect, test } from '@jest/globals';
import { LATE_AFTER_MS } from '../../packages/ops/src/waiting.ts';
import { read } from './support.ts';

const rules = read('deploy/observability/alerts.yml');

test.each(['withdrawal', 'refund'] as const)('a %s is late when its alert fires', (kind) => {
  const rule = new RegExp(`last:waiting_oldest_case_age_seconds\\{kind="${kind}"\\} > ([\\d* ]+)\\n`);
  const seconds = (rule.exec(rules)?.[1] ?? '')
    .split('*')
    .reduce((product, part) => product * Number(part), 1);
  expect(seconds * 1_000).toBe(LATE_AFTER_MS[kind]);
});

test('disputed deposits and dead letters are late immediately, as in their alerts', () => {
  expect(rules).toContain('last:waiting_cases{kind="dispute"} > 0');
  expect(rules).toContain('last:dead_letters > 0');
  expect([LATE_AFTER_MS.dispute, LATE_AFTER_MS.dead_letter]).toEqual([0, 0]);
});
