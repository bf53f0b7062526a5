/** The common part of the commands that rebuild read models, `npm run rebuild:<service>`. */
import { ConfigError } from '../kernel/config.ts';
import { causesOf } from '../kernel/outage.ts';
import type { ProcessName } from '../kernel/process-name.ts';
import { type Progress, withProgress } from '../kernel/progress.mjs';
import { EXIT_CONFIG } from './lifecycle.ts';
import type { RuntimeConfig } from './runtime-options.ts';
import { createServiceRuntime, type ServiceRuntime } from './service-runtime.ts';

const EXIT_FAILED = 1;

/**
 * Prints the sentence that `rebuild` returns. A failure is a sentence with its causes on stderr, and exit code 78 for an invalid
 * configuration, 1 for any other.
 */
export const runRebuild = async <Config extends RuntimeConfig>(
  service: ProcessName,
  readConfig: () => Config,
  rebuild: (runtime: ServiceRuntime, config: Config, progress: Progress) => Promise<string>,
): Promise<void> => {
  try {
    const config = readConfig();
    const runtime = await createServiceRuntime(service, config);
    try {
      const done = await withProgress((progress) => rebuild(runtime, config, progress));
      process.stdout.write(`${done}\n`);
    } finally {
      await runtime.cleanup.close();
    }
  } catch (error) {
    const isConfig = error instanceof ConfigError;
    const sentence = [...new Set(causesOf(error).map(({ message }) => message))].join(': ');
    process.stderr.write(`${isConfig ? '' : 'failed: '}${sentence}\n`);
    process.exitCode = isConfig ? EXIT_CONFIG : EXIT_FAILED;
  }
};
