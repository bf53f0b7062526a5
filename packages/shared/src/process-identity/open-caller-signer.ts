import { systemClock } from '../kernel/clock.ts';
import type { Logger } from '../kernel/log.ts';
import type { ProcessName } from '../kernel/process-name.ts';
import { type CallerSigner, createCallerSigner } from './caller-context.ts';
import { openProcessKeys } from './process-keys.ts';

/**
 * Signs in the name of `process`, and accepts what other processes have signed for it. Throws ConfigError without its keys.
 * Contexts are dated by the system clock, as those of all other processes are.
 */
export const openCallerSigner = (
  process: ProcessName,
  config: { PRIVATE_KEY_DIRECTORY: string; PUBLIC_KEYS_DIRECTORY: string },
  log: Logger,
): CallerSigner =>
  createCallerSigner({
    keys: openProcessKeys({
      process,
      privateDirectory: config.PRIVATE_KEY_DIRECTORY,
      publicDirectory: config.PUBLIC_KEYS_DIRECTORY,
      onProblem: (problem) => log.error({ err: problem }, 'a key file cannot be read'),
    }),
    clock: systemClock,
  });
