/** Draws a page with a Grafana dashboard's panels from Prometheus query results. */

export interface Panel {
  type: string;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  fieldConfig: { defaults: { unit: string; mappings?: Mapping[] } };
  targets: { expr: string; legendFormat: string }[];
}

interface Mapping {
  type: string;
  options: Record<string, unknown>;
}

export interface Dashboard {
  title: string;
  panels: Panel[];
}

export interface Series {
  name: string;
  /** Points as seconds since 1970 and value. */
  points: [number, number][];
}

const COLORS = ['#2a6fdb', '#d9482b', '#2c8a4b', '#b07a00', '#7b4fc9', '#0f8b8d', '#c2388b', '#5b6470'];
const PIXELS = { width: 1_280, column: 52, row: 26, left: 58, bottom: 18 };
/** Heights besides the drawing: the title, and one line of the legend. */
const TITLE = 34;
const LEGEND_LINE = 15;

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
const short = (value: number): string => String(Number(value.toPrecision(3)));

const SCALES: Record<string, [number, string, number][]> = {
  s: [
    [86_400, ' d', 86_400],
    [3_600, ' h', 3_600],
    [120, ' min', 60],
    [1, ' s', 1],
    [0, ' ms', 0.001],
  ],
  bytes: [
    [2 ** 30, ' GiB', 2 ** 30],
    [0, ' MiB', 2 ** 20],
  ],
  percentunit: [[0, ' %', 0.01]],
};
const SUFFIXES: Record<string, string> = { cpm: '/min', ops: '/s', reqps: '/s', eps: '/s' };

const scaleOf = (value: number, unit: string): [string, number] => {
  const [, suffix, size] = SCALES[unit]?.find(([from]) => value >= from) ?? [];
  if (suffix !== undefined && size !== undefined) return [suffix, size];
  return value >= 1e6 ? [' M', 1e6] : [SUFFIXES[unit] ?? '', 1];
};

const shown = (value: number, unit: string): string => {
  const [suffix, size] = scaleOf(value, unit);
  return value === 0 ? '0' : `${short(value / size)}${suffix}`;
};

/** The end of an axis: the next round number as displayed. */
const endOf = (value: number, unit: string): number => {
  const [, size] = scaleOf(value, unit);
  const power = 10 ** Math.floor(Math.log10(value / size));
  const digits =
    [1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10].find((each) => each * power * size >= value * 1.01) ?? 12;
  return digits * power * size;
};

/** The text of a panel with single values. */
const mapped = (value: number, { unit, mappings = [] }: Panel['fieldConfig']['defaults']): string => {
  for (const { type, options } of mappings) {
    if (type === 'value' && options[value] !== undefined) return (options[value] as { text: string }).text;
    const { from, result } = options as { from?: number; result?: { text: string } };
    if (type === 'range' && value >= (from ?? Number.NEGATIVE_INFINITY)) return result?.text ?? '';
  }
  return shown(value, unit);
};

const lines = (panel: Panel, series: Series[], [from, to]: [number, number]): string => {
  const { unit } = panel.fieldConfig.defaults;
  const width = panel.gridPos.w * PIXELS.column - 30;
  const legendLines = Math.ceil(series.length / Math.max(1, Math.floor(width / 190)));
  const height = panel.gridPos.h * PIXELS.row - TITLE - legendLines * LEGEND_LINE - 14;
  const values = series.flatMap(({ points }) => points.map(([, value]) => value)).filter(Number.isFinite);
  const largest = Math.max(...values, 0);
  const top = largest === 0 ? 1 : endOf(largest, unit);
  const x = (time: number): number => PIXELS.left + ((time - from) / (to - from)) * (width - PIXELS.left);
  const y = (value: number): number => (height - PIXELS.bottom) * (1 - value / top) + 4;
  const grid = [0, 0.5, 1].map((share) => {
    const at = y(share * top).toFixed(1);
    return `<line x1="${PIXELS.left}" x2="${width}" y1="${at}" y2="${at}"/><text x="${PIXELS.left - 6}" y="${Number(at) + 4}" text-anchor="end">${shown(share * top, unit)}</text>`;
  });
  const seconds = Math.round(to - from);
  const times = [0, 0.5, 1].map((share) => {
    const anchor = ['start', 'middle', 'end'][share * 2];
    return `<text x="${x(from + share * (to - from))}" y="${height}" text-anchor="${anchor}">${Math.round(share * seconds)} s</text>`;
  });
  const paths = series.map(({ points }, index) => {
    const finite = points.filter(([, value]) => Number.isFinite(value));
    const path = finite.map(([time, value]) => `${x(time).toFixed(1)},${y(value).toFixed(1)}`).join(' ');
    return `<polyline points="${path}" stroke="${COLORS[index % COLORS.length]}"/>`;
  });
  const legend = series.map(
    ({ name }, index) =>
      `<li><i style="background:${COLORS[index % COLORS.length]}"></i>${escaped(name)}</li>`,
  );
  return `<svg width="${width}" height="${height}"><g class="grid">${grid.join('')}</g>${times.join('')}${paths.join('')}</svg><ul>${legend.join('')}</ul>`;
};

const numbers = ({ fieldConfig }: Panel, series: Series[]): string =>
  series
    .map(({ name, points }) => {
      const value = mapped(points.at(-1)?.[1] ?? Number.NaN, fieldConfig.defaults);
      return `<div class="number"><b>${escaped(value)}</b><span>${escaped(name)}</span></div>`;
    })
    .join('');

const sectionOf = (panel: Panel, series: Series[], range: [number, number]): string => {
  const { x, y, w, h } = panel.gridPos;
  const content =
    series.length === 0
      ? '<p>no data</p>'
      : panel.type === 'stat'
        ? `<div class="numbers">${numbers(panel, series)}</div>`
        : lines(panel, series, range);
  return `<section style="grid-area:${y + 1}/${x + 1}/span ${h}/span ${w}"><h2>${escaped(panel.title)}</h2>${content}</section>`;
};

const STYLE = `
body { margin: 0; padding: 16px; width: ${PIXELS.width - 32}px; font: 12px system-ui, sans-serif; color: #1d2430; background: #eef0f3 }
h1 { font-size: 19px; margin: 0 0 4px } header p { margin: 0 0 12px; color: #4a5362 }
main { display: grid; grid-template-columns: repeat(24, 1fr); grid-auto-rows: ${PIXELS.row}px }
section { background: #fff; margin: 4px; padding: 8px 10px; border-radius: 4px; overflow: hidden }
h2 { font-size: 13px; margin: 0 0 4px } p { color: #4a5362 }
svg { display: block } polyline { fill: none; stroke-width: 1.6 } .grid line { stroke: #dde1e7 } text { fill: #4a5362; font-size: 11px }
ul { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: 0 12px; line-height: ${LEGEND_LINE}px; font-size: 11px }
li { white-space: nowrap } i { display: inline-block; width: 9px; height: 3px; margin-right: 4px; vertical-align: middle }
.numbers { display: flex; flex-wrap: wrap; gap: 6px 18px } .number b { display: block; font-size: 19px } .number span { color: #4a5362 }`;

/** `series`: the series of each panel, in the order of the panels. */
export const pictureOf = (
  dashboard: Dashboard,
  series: Series[][],
  range: [number, number],
  note: string,
): string => {
  const panels = dashboard.panels.map((panel, index) => sectionOf(panel, series[index] ?? [], range));
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${escaped(dashboard.title)}</title><style>${STYLE}</style><header><h1>${escaped(dashboard.title)}</h1><p>${escaped(note)}</p></header><main>${panels.join('')}</main></html>`;
};
