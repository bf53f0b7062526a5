/**
 * Resident memory of the six services and the gateway: at rest, at most while 8 callers read lists through the gateway,
 * and a while after that. Goal: below 1.2 GiB together at rest.
 */
import { api, expectStatus, register, stack } from '../test/e2e/support.ts';
import { cpuMs, measure, ms, pause, quantile, residentMiB, timed } from './figures.ts';

const GOAL_MIB = 1_228;
const SETTLED_MS = 12_000;
const REQUESTS = 2_000;
const AT_ONCE = 8;
const LOAD_MAX_MS = 60_000;
/** Together these lists call every service: premium members and boosts by content, files by gyms, users by all. */
const LISTS = ['/posts', '/gyms', '/training-services', '/payments', '/notifications', '/users', '/trainees'];

const parts = Object.entries(stack().describe().parts)
  .filter(([name]) => name !== 'sandbox')
  .map(([name, { pid }]) => ({ name, pid }));
const residents = (): number[] => parts.map(({ pid }) => residentMiB(pid));
const sumOf = (sizes: readonly number[]): number => sizes.reduce((sum, mib) => sum + mib, 0);

const { token } = await register();
await pause(SETTLED_MS);
const rest = residents();

let peak = rest;
const sampler = setInterval(() => {
  const now = residents();
  if (sumOf(now) > sumOf(peak)) peak = now;
}, 50);
const cpuBefore = sumOf(parts.map(({ pid }) => cpuMs(pid)));
const answered: number[] = [];
const deadline = performance.now() + LOAD_MAX_MS;
await measure(REQUESTS, AT_ONCE, async (index) => {
  if (performance.now() > deadline) return;
  const path = LISTS[index % LISTS.length] ?? '';
  answered.push(await timed(async () => expectStatus(await api('GET', path, { token }), 200)));
});
const cpuPerList = (sumOf(parts.map(({ pid }) => cpuMs(pid))) - cpuBefore) / answered.length;
clearInterval(sampler);
await pause(SETTLED_MS);
const after = residents();

const row = (name: string, sizes: readonly (number | undefined)[]): string =>
  `${name.padEnd(14)} ${sizes.map((mib) => `${mib?.toFixed(0).padStart(7)} MiB`).join('  ')}`;
console.log(`${''.padEnd(14)}     at rest   under load   afterwards`);
for (const [index, { name }] of parts.entries()) {
  console.log(row(name, [rest[index], peak[index], after[index]]));
}
console.log(row('together', [sumOf(rest), sumOf(peak), sumOf(after)]));
console.log(`goal: below ${GOAL_MIB} MiB at rest${sumOf(rest) < GOAL_MIB ? '' : ', MISSED'}`);
console.log(
  `${answered.length} lists, ${AT_ONCE} at once: p50 ${ms(quantile(answered, 0.5))}, p99 ${ms(quantile(answered, 0.99))}, ${ms(cpuPerList)} of CPU each`,
);
