/** `npm run rebuild:gyms`: corrects the read model of boosts; it may run beside the service. */
import { createServiceRuntime } from '@fitness/shared/runtime/service-runtime.ts';
import { readConfig } from './config.ts';
import { createDependencies } from './dependencies.ts';
import { createUseCases } from './use-cases.ts';

const config = readConfig();
const runtime = await createServiceRuntime('gyms', config);
try {
  const { rebuildBoosts } = createUseCases(createDependencies(runtime, config));
  process.stdout.write(`rebuilt the boosts of ${await rebuildBoosts()} gyms\n`);
} finally {
  await runtime.cleanup.close();
}
