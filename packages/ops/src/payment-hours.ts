/** Charts of deposits and withdrawals in the last 24 hours, for operators who may see payments. */
import { can } from '@fitness/shared/kernel/caller.ts';
import { HOUR_MS, SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { type Bar, hourChart } from './chart.ts';
import type { Operator, PaymentCount } from './section.ts';

const HOURS = 24;
const PATH = '/payments/hours';

/** Resolves to undefined if the wallet does not answer. */
export type ReadPaymentHours = (operator: Operator) => Promise<readonly PaymentCount[] | undefined>;

const readCounts: ReadPaymentHours = async (operator) => {
  try {
    const { status, body } = await operator.internal('wallet', { method: 'GET', path: PATH });
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

const barsOf = (
  { dependencies }: Operator,
  counts: readonly PaymentCount[],
  type: PaymentCount['type'],
): Bar[] => {
  const now = dependencies.clock.now().getTime();
  return Array.from({ length: HOURS }, (_, index) => {
    const start = new Date(now - (now % HOUR_MS) - (HOURS - 1 - index) * HOUR_MS);
    const countOf = (isDone: boolean): number =>
      counts
        .filter((one) => one.type === type && one.is_done === isDone && one.hour === start.toISOString())
        .reduce((sum, { count }) => sum + count, 0);
    return { start, done: countOf(true), open: countOf(false) };
  });
};

export const paymentHours = async (operator: Operator): Promise<Html | false> => {
  const { t, caller } = operator;
  if (!can(caller, 'payments.view_all')) return false;
  const counts = await operator.paymentHours();
  const charts =
    counts !== undefined &&
    html`<div class="grid">
${hourChart(operator, { title: message('ops.chart.deposits'), done: message('ops.chart.credited'), open: message('ops.chart.not_credited') }, barsOf(operator, counts, 'deposit'))}
${hourChart(operator, { title: message('ops.chart.withdrawals'), done: message('ops.chart.paid'), open: message('ops.chart.not_paid') }, barsOf(operator, counts, 'withdrawal'))}
</div>`;
  return html`<section class="card"><h2>${t(message('ops.chart'))}</h2>
${charts || html`<p class="problem">${t(message('ops.status.unknown'))}</p>`}</section>`;
};
