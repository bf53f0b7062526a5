/** `npm run rebuild:identity`: corrects the copies of users' public files; it may run beside the service. */
import { withProgress } from '@fitness/shared/kernel/progress.mjs';
import { createServiceRuntime } from '@fitness/shared/runtime/service-runtime.ts';
import { readConfig } from './config.ts';
import { createDependencies } from './dependencies.ts';
import { createUseCases } from './use-cases.ts';

const config = readConfig();
const runtime = await createServiceRuntime('identity', config);
try {
  const { rebuildMedia } = createUseCases(await createDependencies(runtime, config));
  process.stdout.write(`rebuilt the files of ${await withProgress(rebuildMedia)} accounts\n`);
} finally {
  await runtime.cleanup.close();
}
