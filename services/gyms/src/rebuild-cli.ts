/** `npm run rebuild:gyms`: corrects the read models of boosts and public files; it may run beside the service. */
import { runRebuild } from '@fitness/shared/runtime/rebuild.ts';
import { readConfig } from './config.ts';
import { createDependencies } from './dependencies.ts';
import { createUseCases } from './use-cases.ts';

await runRebuild('gyms', readConfig, async (runtime, config, progress) => {
  const { rebuildBoosts, rebuildMedia } = createUseCases(createDependencies(runtime, config));
  await rebuildMedia(progress);
  return `rebuilt the boosts and files of ${await rebuildBoosts(progress)} gyms`;
});
