/** Charts of deposits and withdrawals in the last 24 hours, for operators who may see payments. */
import { HOUR_MS, SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import { internalCall } from './call.ts';
import { type Bar, hourChart } from './chart.ts';
import { type Content, card, problem, view } from './content.ts';
import type { Operator, PaymentCount } from './operator.ts';

const HOURS = 24;
const hours = internalCall('GET /payments/hours', ['payments.view_all']);

/** Resolves to undefined if the wallet does not answer. */
export type ReadPaymentHours = (operator: Operator) => Promise<readonly PaymentCount[] | undefined>;

const readCounts: ReadPaymentHours = async (operator) => {
  try {
    const { status, body } = await hours.send(operator, 'wallet');
    return status === 200 ? (body.data as PaymentCount[]) : undefined;
  } catch {
    return undefined;
  }
};

/** Lifetime of the cached counts. Charts by the hour need no fresher ones. */
const LIFETIME_MS = 30 * SECOND_MS;

/** Caches the counts for all operators who may see payments, because they identify nobody. Failures are not cached. */
export const createPaymentHours = (): ReadPaymentHours => {
  let latest: { readAt: number; counts: Promise<readonly PaymentCount[] | undefined> } | undefined;
  return async (operator) => {
    const now = operator.dependencies.clock.now().getTime();
    if (latest === undefined || now - latest.readAt >= LIFETIME_MS)
      latest = { readAt: now, counts: readCounts(operator) };
    const current = latest;
    const counts = await current.counts;
    if (counts === undefined && latest === current) latest = undefined;
    return counts;
  };
};

const barsOf = (now: number, counts: readonly PaymentCount[], type: PaymentCount['type']): Bar[] =>
  Array.from({ length: HOURS }, (_, index) => {
    const start = new Date(now - (now % HOUR_MS) - (HOURS - 1 - index) * HOUR_MS);
    const countOf = (isDone: boolean): number =>
      counts
        .filter((one) => one.type === type && one.is_done === isDone && one.hour === start.toISOString())
        .reduce((sum, { count }) => sum + count, 0);
    return { start, done: countOf(true), open: countOf(false) };
  });

export const paymentCharts = async (operator: Operator): Promise<Content> => {
  if (!hours.isFor(operator)) return undefined;
  const counts = await operator.paymentHours();
  if (counts === undefined) return card(message('ops.chart'), problem(message('ops.status.unknown')));
  const now = operator.dependencies.clock.now().getTime();
  const deposits = hourChart('ops.chart.deposits', 'ops.chart.credited', 'ops.chart.not_credited');
  const withdrawals = hourChart('ops.chart.withdrawals', 'ops.chart.paid', 'ops.chart.not_paid');
  return card(
    message('ops.chart'),
    view`<div class="grid">
${deposits(barsOf(now, counts, 'deposit'))}
${withdrawals(barsOf(now, counts, 'withdrawal'))}
</div>`,
  );
};
