/** A bar chart by hour, as SVG without a script. */
import { message } from '@fitness/shared/kernel/error.ts';
import type { MessageKey } from '@fitness/shared/kernel/i18n/catalogue.ts';
import { formatNumber, formatRecentTime, formatTime } from '@fitness/shared/kernel/i18n/translate.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import type { Content } from './content.ts';

export interface Bar {
  /** Start of the hour. */
  start: Date;
  done: number;
  open: number;
}

const STEP = 10;
const WIDTH = 8;
const HEIGHT = 60;

const rect = (kind: 'good' | 'waiting', index: number, size: number, y: number): Html | false =>
  size > 0 && html`<rect class="${kind}" x="${index * STEP}" y="${y}" width="${WIDTH}" height="${size}"/>`;

/** Renders the bars. `done` and `open` label the two parts of a bar. The hours run from left to right in every language. */
export const hourChart =
  (titleKey: MessageKey, doneKey: MessageKey, openKey: MessageKey) =>
  (bars: readonly Bar[]): Content =>
  ({ t, locale, dependencies }) => {
    const number = (count: number): string => formatNumber(locale, count);
    const sum = (part: 'done' | 'open'): string => number(bars.reduce((total, bar) => total + bar[part], 0));
    const top = Math.max(1, ...bars.map((bar) => bar.done + bar.open));
    const height = (count: number): number => Math.round((count / top) * HEIGHT * 100) / 100;
    const shapes = bars.map((bar, index) => {
      const [done, open] = [height(bar.done), height(bar.open)];
      return html`<g><title>${formatTime(locale, bar.start)}: ${number(bar.done)} + ${number(bar.open)}</title>${rect('good', index, done, HEIGHT - done)}${rect('waiting', index, open, HEIGHT - done - open)}</g>`;
    });
    const [title, done, open] = [titleKey, doneKey, openKey].map((key) => t(message(key)));
    const begin = bars[0] && formatRecentTime(locale, bars[0].start, dependencies.clock.now());
    const most = t(message('ops.chart.most', { count: top }));
    return html`<figure class="stack"><figcaption class="row"><strong>${title}</strong>
<span class="swatch good">${done}: ${sum('done')}</span> <span class="swatch waiting">${open}: ${sum('open')}</span></figcaption>
<svg class="chart" role="img" aria-label="${title}. ${done}: ${sum('done')}. ${open}: ${sum('open')}. ${most}" viewBox="0 0 ${bars.length * STEP} ${HEIGHT}" preserveAspectRatio="none">${shapes}<line x1="0" x2="${bars.length * STEP}" y1="${HEIGHT}" y2="${HEIGHT}"/></svg>
<p class="top quiet" dir="ltr"><bdi>${begin}</bdi><bdi>${t(message('ops.chart.now'))}</bdi></p>
<p class="quiet">${most}</p></figure>`;
  };
