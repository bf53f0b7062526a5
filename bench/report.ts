/** Prints figures as tables on the console, and as Markdown to the file named by `BENCH_MARKDOWN`. */
import { appendFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { MARKDOWN_FILE, ROUNDS, SECONDS, SERVERS } from './config.ts';

import { type Cpu, totalOf } from './processes.ts';
import { median, medianCpu, PEER, type Raced, rates, totalCpu } from './race.ts';

const isRightAligned = (rows: readonly string[][], column: number): boolean =>
  rows.every((row) => /^[-–\d]/.test(row[column] ?? ''));

export const printTable = (title: string, head: readonly string[], rows: readonly string[][]): void => {
  const widths = head.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const lineOf = (cells: readonly string[]): string => {
    const padded = cells.map((cell, column) =>
      isRightAligned(rows, column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
    );
    return `| ${padded.join(' | ')} |`;
  };
  const rule = widths.map((width, column) =>
    isRightAligned(rows, column) ? `${'-'.repeat(width - 1)}:` : '-'.repeat(width),
  );
  const table = [lineOf(head), `| ${rule.join(' | ')} |`, ...rows.map(lineOf)].join('\n');
  console.log(`\n${title}\n\n${table}`);
  if (MARKDOWN_FILE) appendFileSync(MARKDOWN_FILE, `${title}\n\n${table}\n\n`);
};

const machine = (): string =>
  `${availableParallelism()} cores (${cpus()[0]?.model.trim()}), Node ${process.versions.node}; ${SERVERS}`;

export const conditions = (): string =>
  `${machine()}; ${ROUNDS} rounds of ${SECONDS} s, median (minimum to maximum).`;

const digits = (value: number): string => value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2);

export const spread = (values: readonly number[]): string =>
  values.length < 2
    ? digits(median(values))
    : `${digits(median(values))} (${digits(Math.min(...values))} to ${digits(Math.max(...values))})`;

/** Compares unrounded values: a goal is missed even if rounding hides it. */
const verdict = (measured: number, goal: number, isUpperLimit: boolean): string =>
  (isUpperLimit ? measured <= goal : measured >= goal) ? 'met' : 'missed';

const goalRow = (
  name: string,
  values: readonly number[],
  goal: number,
  isUpperLimit: boolean,
  unit: string,
): string[] => [
  name,
  `${isUpperLimit ? '≤' : '≥'} ${goal}${unit}`,
  spread(values),
  verdict(median(values), goal, isUpperLimit),
];

const goalRows = ({ work, ours, peer }: Raced): string[][] => {
  const { name, goals = {} } = work;
  const ratios = rates(ours).map((rate, round) => rate / (rates(peer)[round] ?? Number.NaN));
  const rows: string[][] = [];
  if (work.peer !== undefined && goals.rate !== undefined)
    rows.push(goalRow(`${name}, of ${work.peer.name}`, ratios, goals.rate, false, ''));
  if (work.peer !== undefined && goals.time !== undefined)
    rows.push(
      goalRow(
        `${name}, time of ${work.peer.name}`,
        ratios.map((ratio) => 1 / ratio),
        goals.time,
        true,
        ' ×',
      ),
    );
  if (work.peer !== undefined && goals.rate === undefined && goals.time === undefined)
    rows.push([`${name}, of ${work.peer.name}`, '–', spread(ratios), '–']);
  if (goals.totalCpu !== undefined)
    rows.push(goalRow(`${name}, CPU of all processes`, totalCpu(ours), goals.totalCpu, true, ' ms'));
  if (goals.cpu !== undefined) {
    const [process, limit] = goals.cpu;
    rows.push(
      goalRow(
        `${name}, CPU of ${process}`,
        ours.map(({ cpu }) => cpu[process] ?? Number.NaN),
        limit,
        true,
        ' ms',
      ),
    );
    if (work.peer?.pid !== undefined)
      rows.push([
        `${name}, CPU of ${work.peer.name} itself`,
        '–',
        spread(peer.map(({ cpu }) => cpu[PEER] ?? Number.NaN)),
        '–',
      ]);
  }
  return rows;
};

/** Every process that used at least 0.01 ms for any work has a column. */
export const cpuColumns = (all: readonly Cpu[]): [head: string[], cells: (cpu: Cpu) => string[]] => {
  const columns = [...new Set(all.flatMap((cpu) => Object.keys(cpu)))].filter((process) =>
    all.some((cpu) => (cpu[process] ?? 0) >= 0.01),
  );
  const cells = (cpu: Cpu): string[] => columns.map((process) => (cpu[process] ?? 0).toFixed(2));
  return [columns, cells];
};

const cpuTable = (results: readonly Raced[]): [head: string[], rows: string[][]] => {
  // Work that is compared with two peers was measured twice; the first one is shown.
  const first = new Map(results.map((raced) => [raced.work.name, raced] as const).toReversed());
  const all = [...first].toReversed().map(([name, { ours }]) => ({ name, cpu: medianCpu(ours) }));
  const [columns, cells] = cpuColumns(all.map(({ cpu }) => cpu));
  return [
    ['CPU for one, in milliseconds', ...columns, 'together'],
    all.map(({ name, cpu }) => [name, ...cells(cpu), totalOf(cpu).toFixed(2)]),
  ];
};

export const report = (results: readonly Raced[], skipped: readonly string[]): void => {
  printTable(
    `Goals. ${conditions()}`,
    ['work', 'goal', 'measured', 'result'],
    results.flatMap((raced) => goalRows(raced)),
  );
  printTable(
    'Rates, in the same run.',
    ['work', 'ours, per second', 'peer, per second', 'peer'],
    results.map(({ work, ours, peer }) => [
      work.name,
      spread(rates(ours)),
      peer.length === 0 ? '–' : spread(rates(peer)),
      work.peer?.name ?? '–',
    ]),
  );
  printTable('Cost by process.', ...cpuTable(results));
  for (const reason of skipped) console.log(`Skipped: ${reason}`);
};
