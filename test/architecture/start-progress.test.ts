/** Tests what `npm start` shows while the product starts. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { type Display, withStartProgress } from '../../scripts/lib/start-progress.mjs';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'start-progress-'));
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
  rmSync(directory, { recursive: true, force: true });
});

const pass = (seconds: number) => jest.advanceTimersByTimeAsync(seconds * 1_000);

/** Runs a start. Returns the lines that it shows. */
const start = async (work: (display: Display) => Promise<void>): Promise<string[]> => {
  const lines: string[] = [];
  const options = {
    recordFile: join(directory, 'record.json'),
    write: (line: string) => void lines.push(line),
  };
  await withStartProgress(['Redis', 'wallet'], options, work);
  return lines;
};

const installAndStart = async (
  { onCount, onInstalled, onReady }: Display,
  seconds: number,
): Promise<void> => {
  onCount(0, 400);
  onReady('Redis', '0.2 s', 'installed');
  await pass(4);
  onCount(300, 400);
  await pass(seconds - 4);
  onInstalled();
  await pass(5);
  onReady('wallet', '5.0 s', 'http://127.0.0.1:8102');
};
const startOnly = async ({ onInstalled, onReady }: Display, seconds: number): Promise<void> => {
  onInstalled();
  onReady('Redis', '0.2 s', 'installed');
  await pass(seconds);
  onReady('wallet', '5.0 s', 'http://127.0.0.1:8102');
};

test('the first start shows in one display what it is waiting for, without an estimate', async () => {
  expect(await start((display) => installAndStart(display, 8))).toEqual([
    'Redis             0.2 s  installed',
    '0:03  1/3 ready, waiting for packages (0/400), wallet',
    '0:06  1/3 ready, waiting for packages (300/400), wallet',
    '0:09  2/3 ready, waiting for wallet',
    '0:12  2/3 ready, waiting for wallet',
    'wallet            5.0 s  http://127.0.0.1:8102',
  ]);
});

/** The estimates of a start. */
const estimates = async (work: (display: Display) => Promise<void>): Promise<(string | undefined)[]> =>
  (await start(work)).filter((line) => /^\d/.test(line)).map((line) => /about (.*) left/.exec(line)?.[1]);

test('the estimate comes from the last start, with an installation only where there is one, and never grows', async () => {
  await start((display) => installAndStart(display, 8));
  expect(await estimates((display) => startOnly(display, 4))).toEqual(['0:02']);
  expect(await estimates((display) => startOnly(display, 10))).toEqual(['0:01', undefined, undefined]);
  // The installation took 8 s, and the last start without it 10 s.
  expect(await estimates((display) => installAndStart(display, 16))).toEqual([
    ...['0:15', '0:12', '0:09', '0:06', '0:03'],
    ...[undefined, undefined],
  ]);
});

test('without a recorded installation, a start that installs shows no estimate', async () => {
  await start((display) => startOnly(display, 10));
  expect(await estimates((display) => installAndStart(display, 8))).toEqual(Array(4).fill(undefined));
});

test('a start that fails leaves the record of the last one', async () => {
  await start((display) => startOnly(display, 10));
  await expect(start(() => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
  expect(await estimates((display) => startOnly(display, 4))).toEqual(['0:07']);
});
