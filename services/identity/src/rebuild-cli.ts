/** `npm run rebuild:identity`: corrects the copies of users' public files; it may run beside the service. */
import { runRebuild } from '@fitness/shared/runtime/rebuild.ts';
import { readConfig } from './config.ts';
import { createDependencies } from './dependencies.ts';
import { createUseCases } from './use-cases.ts';

await runRebuild('identity', readConfig, async (runtime, config, progress) => {
  const { rebuildMedia } = createUseCases(await createDependencies(runtime, config));
  return `rebuilt the files of ${await rebuildMedia(progress)} accounts`;
});
