/** Charts of deposits and withdrawals in the last 24 hours, for operators who may see payments. They are SVG without a script. */
import { HOUR_MS, SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import { formatNumber, formatRecentTime, formatTime } from '@fitness/shared/kernel/i18n/translate.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { internalCall } from './call.ts';
import { type Content, card, problem, view } from './content.ts';
import type { Operator, OpsDependencies, PaymentCount } from './operator.ts';

const HOURS = 24;
const hours = internalCall('GET /payments/hours', ['payments.view_all']);

const readCounts = async (operator: Operator): Promise<readonly PaymentCount[] | undefined> =>
  (await hours.find(operator, 'wallet'))?.data as PaymentCount[] | undefined;

/** Lifetime of the cached counts. Charts by the hour need no fresher ones. */
const LIFETIME_MS = 30 * SECOND_MS;

/** Caches the counts for all operators who may see payments, because they identify nobody. Failures are not cached. */
export const createPaymentHours = (): OpsDependencies['paymentHours'] => {
  let latest: { readAt: number; counts: ReturnType<typeof readCounts> } | undefined;
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

const barsOf = (now: number, counts: readonly PaymentCount[]) =>
  Array.from({ length: HOURS }, (_, index) => {
    const start = new Date(now - (now % HOUR_MS) - (HOURS - 1 - index) * HOUR_MS);
    const countOf = (isDone: boolean): number =>
      counts
        .filter((one) => one.is_done === isDone && one.hour === start.toISOString())
        .reduce((sum, { count }) => sum + count, 0);
    return { start, done: countOf(true), open: countOf(false) };
  });

const STEP = 10;
const WIDTH = 8;
const HEIGHT = 60;

const rect = (kind: 'good' | 'waiting', index: number, size: number, y: number): Html | false =>
  size > 0 && html`<rect class="${kind}" x="${index * STEP}" y="${y}" width="${WIDTH}" height="${size}"/>`;

/** The title of each chart, and the labels of the two parts of its bars. */
const TEXTS = {
  deposit: ['ops.chart.deposits', 'ops.chart.credited', 'ops.chart.not_credited'],
  withdrawal: ['ops.chart.withdrawals', 'ops.chart.paid', 'ops.chart.not_paid'],
} as const;

/** A bar for each hour. The hours run from left to right in every language. */
const chartOf = (
  { t, locale, dependencies }: Operator,
  type: PaymentCount['type'],
  counts: readonly PaymentCount[],
): Html => {
  const now = dependencies.clock.now();
  const ofType = counts.filter((one) => one.type === type);
  const bars = barsOf(now.getTime(), ofType);
  const number = (count: number): string => formatNumber(locale, count);
  const sum = (part: 'done' | 'open'): string => number(bars.reduce((total, bar) => total + bar[part], 0));
  const top = Math.max(1, ...bars.map((bar) => bar.done + bar.open));
  const height = (count: number): number => Math.round((count / top) * HEIGHT * 100) / 100;
  const shapes = bars.map((bar, index) => {
    const [done, open] = [height(bar.done), height(bar.open)];
    return html`<g><title>${formatTime(locale, bar.start)}: ${number(bar.done)} + ${number(bar.open)}</title>${rect('good', index, done, HEIGHT - done)}${rect('waiting', index, open, HEIGHT - done - open)}</g>`;
  });
  const [title, done, open] = TEXTS[type].map((key) => t(message(key)));
  const begin = bars[0] && formatRecentTime(locale, bars[0].start, now);
  const most = t(message('ops.chart.most', { count: top }));
  return html`<figure class="stack"><figcaption class="row"><strong>${title}</strong>
<span class="swatch good">${done}: ${sum('done')}</span> <span class="swatch waiting">${open}: ${sum('open')}</span></figcaption>
<svg class="chart" role="img" aria-label="${title}. ${done}: ${sum('done')}. ${open}: ${sum('open')}. ${most}" viewBox="0 0 ${bars.length * STEP} ${HEIGHT}" preserveAspectRatio="none">${shapes}<line x1="0" x2="${bars.length * STEP}" y1="${HEIGHT}" y2="${HEIGHT}"/></svg>
<p class="top quiet" dir="ltr"><bdi>${begin}</bdi><bdi>${t(message('ops.chart.now'))}</bdi></p>
<p class="quiet">${most}</p></figure>`;
};

export const paymentCharts = async (operator: Operator): Promise<Content> => {
  if (!hours.isFor(operator)) return undefined;
  const counts = await operator.dependencies.paymentHours(operator);
  if (counts === undefined) return card(message('ops.chart'), problem(message('ops.status.unknown')));
  return card(
    message('ops.chart'),
    view`<div class="grid">
${chartOf(operator, 'deposit', counts)}
${chartOf(operator, 'withdrawal', counts)}
</div>`,
  );
};
