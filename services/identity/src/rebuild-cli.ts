/** `npm run rebuild:identity`: corrects by which texts accounts are found, and the copies of their public files; it may run beside the service. */
import { runRebuild } from '@fitness/shared/runtime/rebuild.ts';
import { readConfig } from './config.ts';
import { createDependencies } from './dependencies.ts';
import { createUseCases } from './use-cases.ts';

await runRebuild('identity', readConfig, async (runtime, config, progress) => {
  const { rebuild } = createUseCases(await createDependencies(runtime, config));
  return `rebuilt ${await rebuild(progress)} accounts`;
});
