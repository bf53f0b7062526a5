/** `about 1:05 left`; empty before the first part and after the last. */
export function remaining(progress: { done: number; total: number; elapsedMs: number }): string;
