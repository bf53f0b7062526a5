/** `npm run rebuild:content`: corrects the read models and counters of this service; it may run beside the service. */
import { withProgress } from '@fitness/shared/kernel/progress.mjs';
import { createServiceRuntime } from '@fitness/shared/runtime/service-runtime.ts';
import { readConfig } from './config.ts';
import { createDependencies } from './dependencies.ts';
import { createUseCases } from './use-cases.ts';

const config = readConfig();
const runtime = await createServiceRuntime('content', config);
try {
  const { rebuild } = createUseCases(createDependencies(runtime, config));
  const done = await withProgress(rebuild);
  process.stdout.write(`rebuilt ${done.profiles} profiles and ${done.trainingServices} training services\n`);
} finally {
  await runtime.cleanup.close();
}
