/** Prints figures as tables. */
import { availableParallelism, cpus } from 'node:os';
import { ROUNDS, SECONDS, SERVERS } from './config.ts';
import { median } from './figures.ts';
import { PEER, totalOf } from './processes.ts';
import { medianCpu, type Raced, rates, totalCpu } from './race.ts';

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
  `${digits(median(values))} (${digits(Math.min(...values))} to ${digits(Math.max(...values))})`;

/** A figure with the goal of its median: `least` or `most`. */
interface Figure {
  name: string;
  values: readonly number[];
  least?: number | undefined;
  most?: number | undefined;
}

const figuresOf = ({ work: { name, goals = {}, peer: rival }, ours, peer }: Raced): Figure[] => {
  const figures: Figure[] = [];
  if (rival !== undefined) {
    const values = rates(ours).map((rate, round) => rate / (rates(peer)[round] ?? Number.NaN));
    figures.push({ name: `${name}, of ${rival.name}`, values, least: goals.rate });
  }
  if (goals.totalCpu !== undefined)
    figures.push({ name: `${name}, ms of all processes`, values: totalCpu(ours), most: goals.totalCpu });
  const [process = '', most] = goals.cpu ?? [];
  const cpuOf = (samples: Raced['ours'], of: string) => samples.map(({ cpu }) => cpu[of] ?? Number.NaN);
  if (most !== undefined)
    figures.push({ name: `${name}, ms of ${process}`, values: cpuOf(ours, process), most });
  if (rival?.pid !== undefined)
    figures.push({ name: `${name}, ms of ${rival.name} itself`, values: cpuOf(peer, PEER) });
  return figures;
};

/** Compares unrounded values: a goal is missed even if rounding hides it. */
const rowOf = ({ name, values, least, most }: Figure): string[] => {
  const value = median(values);
  if (least !== undefined) return [name, `≥ ${least}`, spread(values), value >= least ? 'met' : 'missed'];
  if (most !== undefined) return [name, `≤ ${most}`, spread(values), value <= most ? 'met' : 'missed'];
  return [name, '–', spread(values), '–'];
};

const cpuTable = (results: readonly Raced[]): [head: string[], rows: string[][]] => {
  // Work that is compared with two peers was measured twice; the first one is shown.
  const first = new Map(results.map(({ work, ours }) => [work.name, medianCpu(ours)] as const).toReversed());
  const processes = [...new Set([...first.values()].flatMap((cpu) => Object.keys(cpu)))];
  return [
    ['CPU for one, in milliseconds', ...processes, 'together'],
    [...first]
      .toReversed()
      .map(([name, cpu]) => [
        name,
        ...processes.map((process) => (cpu[process] ?? 0).toFixed(2)),
        totalOf(cpu).toFixed(2),
      ]),
  ];
};

export const report = (results: readonly Raced[], skipped: readonly string[]): void => {
  printTable(
    `Goals; ms is CPU time for one. ${conditions()}`,
    ['work', 'goal', 'measured', 'result'],
    results.flatMap(figuresOf).map(rowOf),
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
