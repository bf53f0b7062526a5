/** Resident memory of the six services and the gateway, at rest. Goal: 900 MiB or less together. */
import { readFileSync } from 'node:fs';
import { stack } from '../test/e2e/support.ts';
import { pause } from './figures.ts';

const AT_REST_MS = 12_000;

const residentMiB = (pid: number): number => {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1]) / 1024;
};

await pause(AT_REST_MS);
const parts = Object.entries(stack().describe().parts).filter(([name]) => name !== 'sandbox');
const sizes = parts.map(([name, { pid }]) => ({ name, mib: residentMiB(pid) }));
for (const { name, mib } of sizes) console.log(`${name.padEnd(14)} ${mib.toFixed(0).padStart(5)} MiB`);
const total = sizes.reduce((sum, { mib }) => sum + mib, 0);
console.log(`together       ${total.toFixed(0).padStart(5)} MiB (goal: 900 or less)`);
