/** `npm run rebuild:gyms`: corrects the grams, and the read models of boosts and public files; it may run beside the service. */
import { runRebuild } from '@fitness/shared/runtime/rebuild.ts';
import { readConfig } from './config.ts';
import { createDependencies } from './dependencies.ts';
import { createUseCases } from './use-cases.ts';

await runRebuild('gyms', readConfig, async (runtime, config, progress) => {
  const dependencies = createDependencies(runtime, config);
  const { rebuildBoosts, rebuildMedia } = createUseCases(dependencies);
  const { gyms } = dependencies.store;
  progress.expect((await gyms.allIds()).length, 'words of gyms');
  await gyms.reindex(progress);
  await rebuildMedia(progress);
  return `rebuilt the words, boosts and files of ${await rebuildBoosts(progress)} gyms`;
});
