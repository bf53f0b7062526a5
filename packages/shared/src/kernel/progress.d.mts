export interface Progress {
  /** More parts are to be done; `now`: what is under way. */
  expect(parts: number, now?: string): void;
  /** One part more is done, or `parts`; `now`: what is under way. */
  advance(now: string, parts?: number): void;
}
export function clockOf(milliseconds: number): string;
export function remaining(progress: { done: number; total: number; elapsedMs: number }): string;
export declare const NO_PROGRESS: Progress;
export function withProgress<T>(
  work: (progress: Progress) => Promise<T>,
  options?: { write?: (line: string) => void; intervalMs?: number },
): Promise<T>;
