import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { type Progress, withProgress } from './progress.mjs';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const lines: string[] = [];
const write = (line: string): void => void lines.push(line);
beforeEach(() => void lines.splice(0));

/** Shows the progress of work that ends with `end`. */
const begin = (options: { remainingMs?: () => number | undefined } = {}) => {
  let end = (_result: string): void => undefined;
  let progress: Progress | undefined;
  const result = withProgress(
    (shown) => {
      progress = shown;
      return new Promise<string>((resolve) => {
        end = resolve;
      });
    },
    { write, ...options },
  );
  if (progress === undefined) throw new Error('the work has not begun');
  return { progress, end, result };
};

test('work that takes less than three seconds shows nothing', async () => {
  const { progress, end, result } = begin();
  progress.expect(10, 'rows');
  progress.advance('rows', 10);
  await jest.advanceTimersByTimeAsync(2_999);
  end('done');
  expect(await result).toBe('done');
  await jest.advanceTimersByTimeAsync(60_000);
  expect(lines).toEqual([]);
});

test('longer work shows every three seconds how much is done and how long the rest takes', async () => {
  const { progress, end } = begin();
  await jest.advanceTimersByTimeAsync(3_000);
  progress.expect(100, 'rows');
  await jest.advanceTimersByTimeAsync(3_000);
  for (let index = 0; index < 30; index += 1) progress.advance('rows');
  await jest.advanceTimersByTimeAsync(3_000);
  progress.expect(20);
  progress.advance('files', 30);
  await jest.advanceTimersByTimeAsync(3_000);
  progress.advance('files', 70);
  await jest.advanceTimersByTimeAsync(3_000);
  expect(lines).toEqual([
    '0:03  starting',
    '0:06  0/100 rows',
    '0:09  30/100 rows, about 0:21 left',
    '0:12  60/120 files, about 0:12 left',
    // More than was expected: rows may be added meanwhile.
    '0:15  130/130 files',
  ]);
  end('done');
});

test('the remaining time is not shown before a twentieth is done', async () => {
  const { progress, end } = begin();
  progress.expect(100, 'rows');
  progress.advance('rows', 4);
  await jest.advanceTimersByTimeAsync(3_000);
  progress.advance('rows');
  await jest.advanceTimersByTimeAsync(3_000);
  expect(lines).toEqual(['0:03  4/100 rows', '0:06  5/100 rows, about 1:54 left']);
  end('done');
});

test('the caller may know how long the rest takes', async () => {
  let leftMs: number | undefined = 65_000;
  const { progress, end } = begin({ remainingMs: () => leftMs });
  await jest.advanceTimersByTimeAsync(3_000);
  progress.expect(8, 'ready');
  progress.advance('ready', 2);
  leftMs = undefined;
  await jest.advanceTimersByTimeAsync(3_000);
  expect(lines).toEqual(['0:03  starting, about 1:05 left', '0:06  2/8 ready']);
  end('done');
});

test('work that fails shows nothing afterwards', async () => {
  const failing = withProgress(() => Promise.reject(new Error('refused')), { write });
  await expect(failing).rejects.toThrow('refused');
  await jest.advanceTimersByTimeAsync(60_000);
  expect(lines).toEqual([]);
});
