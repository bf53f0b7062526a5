/** A bar chart by hour, as SVG without a script. */
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import { formatNumber, formatRecentTime, formatTime } from '@fitness/shared/kernel/i18n/translate.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import type { Operator } from './section.ts';

export interface Bar {
  /** Start of the hour. */
  start: Date;
  done: number;
  open: number;
}

const STEP = 10;
const WIDTH = 8;
const HEIGHT = 60;

interface Chart {
  title: Message;
  /** Labels for the two parts of a bar. */
  done: Message;
  open: Message;
}

/** Renders the chart. The hours run from left to right in every language. */
export const hourChart = (
  { t, locale, dependencies }: Operator,
  { title, done, open }: Chart,
  bars: readonly Bar[],
): Html => {
  const sum = (part: 'done' | 'open'): number => bars.reduce((total, bar) => total + bar[part], 0);
  const top = Math.max(1, ...bars.map((bar) => bar.done + bar.open));
  const height = (count: number): number => Math.round((count / top) * HEIGHT * 100) / 100;
  const timeOf = ({ start }: Bar): string => formatTime(locale, start);
  const shapes = bars.map((bar, index) => {
    const [doneHeight, openHeight] = [height(bar.done), height(bar.open)];
    const rect = (kind: 'good' | 'waiting', size: number, y: number): Html | false =>
      size > 0 &&
      html`<rect class="${kind}" x="${index * STEP}" y="${y}" width="${WIDTH}" height="${size}"/>`;
    return html`<g><title>${timeOf(bar)}: ${formatNumber(locale, bar.done)} + ${formatNumber(locale, bar.open)}</title>${rect('good', doneHeight, HEIGHT - doneHeight)}${rect('waiting', openHeight, HEIGHT - doneHeight - openHeight)}</g>`;
  });
  const numbers = { done: formatNumber(locale, sum('done')), open: formatNumber(locale, sum('open')) };
  const [first] = bars;
  const begin = first && formatRecentTime(locale, first.start, dependencies.clock.now());
  const most = t(message('ops.chart.most', { count: top }));
  return html`<figure class="stack"><figcaption class="row"><strong>${t(title)}</strong>
<span class="swatch good">${t(done)}: ${numbers.done}</span> <span class="swatch waiting">${t(open)}: ${numbers.open}</span></figcaption>
<svg class="chart" role="img" aria-label="${t(title)}. ${t(done)}: ${numbers.done}. ${t(open)}: ${numbers.open}. ${most}" viewBox="0 0 ${bars.length * STEP} ${HEIGHT}" preserveAspectRatio="none">${shapes}<line x1="0" x2="${bars.length * STEP}" y1="${HEIGHT}" y2="${HEIGHT}"/></svg>
<p class="top quiet" dir="ltr"><bdi>${begin}</bdi><bdi>${t(message('ops.chart.now'))}</bdi></p>
<p class="quiet">${most}</p></figure>`;
};
