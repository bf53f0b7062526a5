/**
 * Calls to a file system that may stop responding, such as a network volume. Node has four threads for files, password
 * hashes and name resolution, and a call that hangs occupies one. Therefore only one call runs at a time, and none
 * starts while another is past its limit.
 */
import { unavailable } from './error.ts';
import { finishesWithin } from './timing.ts';

/** Rejects with `unavailable` when the work, including the wait for earlier calls, takes longer than the limit. */
type FileAccess = <Result>(work: () => Promise<Result>) => Promise<Result>;

interface FileAccessOptions {
  /** Name for error messages. */
  path: string;
  timeoutMs: number;
  onSilence?: ((problem: Error) => void) | undefined;
}

export const createFileAccess = ({ path, timeoutMs, onSilence }: FileAccessOptions): FileAccess => {
  let last: Promise<unknown> = Promise.resolve();
  let isSilent = false;
  const fallSilent = (problem: Error): void => {
    if (isSilent) return;
    isSilent = true;
    void last.then(() => {
      isSilent = false;
    });
    onSilence?.(problem);
  };
  return async <Result>(work: () => Promise<Result>): Promise<Result> => {
    const problem = unavailable(`${path} does not answer`);
    if (isSilent) throw problem;
    let isLate = false;
    const result = last.then(() => {
      if (isLate) throw problem;
      return work();
    });
    last = result.catch(() => undefined);
    if (await finishesWithin(result, timeoutMs)) return result;
    isLate = true;
    fallSilent(problem);
    throw problem;
  };
};
