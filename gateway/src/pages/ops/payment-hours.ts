/** Deposits and withdrawals of the last 24 hours, for operators who see payments. */
import { can } from '@fitness/shared/kernel/caller.ts';
import { HOUR_MS } from '@fitness/shared/kernel/clock.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { type Bar, hourChart } from './chart.ts';
import type { Operator } from './section.ts';

const HOURS = 24;
const PATH = '/payments/hours';

interface Count {
  hour: string;
  type: 'deposit' | 'withdrawal';
  is_done: boolean;
  count: number;
}

const readCounts = async (operator: Operator): Promise<Count[] | undefined> => {
  try {
    const { status, body } = await operator.internal('wallet', { method: 'GET', path: PATH });
    return status === 200 ? (body.data as Count[]) : undefined;
  } catch {
    return undefined;
  }
};

const barsOf = ({ dependencies }: Operator, counts: readonly Count[], type: Count['type']): Bar[] => {
  const now = dependencies.clock.now().getTime();
  return Array.from({ length: HOURS }, (_, index) => {
    const start = new Date(now - (now % HOUR_MS) - (HOURS - 1 - index) * HOUR_MS).toISOString();
    const countOf = (isDone: boolean): number =>
      counts
        .filter((one) => one.type === type && one.is_done === isDone && one.hour === start)
        .reduce((sum, { count }) => sum + count, 0);
    return { hour: `${start.slice(11, 13)}:00`, done: countOf(true), open: countOf(false) };
  });
};

export const paymentHours = async (operator: Operator): Promise<Html | false> => {
  const { t, caller } = operator;
  if (!can(caller, 'payments.view_all')) return false;
  const counts = await readCounts(operator);
  const charts =
    counts !== undefined &&
    html`<div class="grid">
${hourChart(operator, { title: message('ops.chart.deposits'), done: message('ops.chart.credited'), open: message('ops.chart.not_credited') }, barsOf(operator, counts, 'deposit'))}
${hourChart(operator, { title: message('ops.chart.withdrawals'), done: message('ops.chart.paid'), open: message('ops.chart.not_paid') }, barsOf(operator, counts, 'withdrawal'))}
</div>`;
  return html`<section class="card"><h2>${t(message('ops.chart'))}</h2>
${charts || html`<p class="problem">${t(message('ops.status.unknown'))}</p>`}</section>`;
};
