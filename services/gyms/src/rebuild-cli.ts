/** `npm run rebuild:gyms`: corrects the read models of boosts and public files; it may run beside the service. */
import { withProgress } from '@fitness/shared/kernel/progress.mjs';
import { createServiceRuntime } from '@fitness/shared/runtime/service-runtime.ts';
import { readConfig } from './config.ts';
import { createDependencies } from './dependencies.ts';
import { createUseCases } from './use-cases.ts';

const config = readConfig();
const runtime = await createServiceRuntime('gyms', config);
try {
  const { rebuildBoosts, rebuildMedia } = createUseCases(createDependencies(runtime, config));
  const gyms = await withProgress(async (progress) => {
    await rebuildMedia(progress);
    return rebuildBoosts(progress);
  });
  process.stdout.write(`rebuilt the boosts and files of ${gyms} gyms\n`);
} finally {
  await runtime.cleanup.close();
}
