/** Prints figures as tables. */
import { availableParallelism, cpus } from 'node:os';
import { ROUNDS, SECONDS, SERVERS, skipped } from './config.ts';
import { median, type Raced, type Sample, totalCpu } from './measure.ts';

export const printTable = (title: string, head: readonly string[], rows: readonly string[][]): void => {
  const widths = head.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const lineOf = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const rule = widths.map((width) => '-'.repeat(width));
  console.log(`\n${title}\n\n${[head, rule, ...rows].map(lineOf).join('\n')}`);
};

export const conditions = (): string =>
  `${availableParallelism()} cores (${cpus()[0]?.model.trim()}), Node ${process.versions.node}; ${SERVERS}; ` +
  `${ROUNDS} rounds of ${SECONDS} s, median (minimum to maximum).`;

const digits = (value: number): string => value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2);

export const spread = (values: readonly number[]): string =>
  values.length === 0
    ? '–'
    : `${digits(median(values))} (${digits(Math.min(...values))} to ${digits(Math.max(...values))})`;

/** Compares unrounded values: a goal is missed even if rounding hides it. */
const judged = (text: string, value: number, { least = 0, most = Number.POSITIVE_INFINITY }): string => {
  const goals = [least > 0 && `≥ ${least}`, Number.isFinite(most) && `≤ ${most}`].filter(Boolean);
  return [text, ...goals, goals.length > 0 && (value >= least && value <= most ? 'met' : 'missed')]
    .filter(Boolean)
    .join(', ');
};

const rates = (samples: readonly Sample[]): number[] => samples.map(({ perSecond }) => perSecond);

const rowOf = ({ work: { name, peer: rival, goals = {} }, ours, peer }: Raced): string[] => {
  const ratios = rates(peer).map((rate, round) => (rates(ours)[round] ?? Number.NaN) / rate);
  return [
    name,
    spread(rates(ours)),
    rival?.name ?? '–',
    spread(rates(peer)),
    judged(spread(ratios), median(ratios), { least: goals.rate ?? 0 }),
    judged(spread(totalCpu(ours)), median(totalCpu(ours)), { most: goals.totalCpu }),
  ];
};

const costOf = ({ work: { name, goals }, ours }: Raced, processes: readonly string[]): string[] => {
  const cells = processes.map((process) => {
    const ms = median(ours.map(({ cpu }) => cpu[process] ?? 0));
    return judged(ms.toFixed(2), ms, { most: goals?.cpu?.[process] });
  });
  return [name, ...cells, median(totalCpu(ours)).toFixed(2)];
};

export const report = (results: readonly Raced[]): void => {
  printTable(
    conditions(),
    ['work', 'per second', 'beside', 'its rate', 'ratio, goal', 'CPU ms of all for one, goal'],
    results.map(rowOf),
  );
  const processes = Object.keys(results[0]?.ours[0]?.cpu ?? {});
  printTable(
    'CPU by process, in milliseconds for one.',
    ['work', ...processes, 'together'],
    results.map((raced) => costOf(raced, processes)),
  );
  printSkipped();
};

export const printSkipped = (): void => {
  for (const reason of skipped) console.log(`Skipped: ${reason}`);
};
