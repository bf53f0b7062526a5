/** `npm run rebuild:gyms` corrects the grams, and the read models of boosts and public files. The service may be running. */
import { MODEL } from '@fitness/contracts/model-names.ts';
import { pluralize } from '@fitness/shared/kernel/pluralize.ts';
import { runRebuild } from '@fitness/shared/runtime/rebuild.ts';
import { readConfig } from './config.ts';
import { createDependencies } from './dependencies.ts';
import { createUseCases } from './use-cases.ts';

await runRebuild('gyms', readConfig, async (runtime, config, progress) => {
  const dependencies = createDependencies(runtime, config);
  const { rebuildBoosts, rebuildMedia } = createUseCases(dependencies);
  const { gyms } = dependencies.store;
  const ids = await gyms.allIds();
  progress.expect(2 * ids.length, 'words of gyms');
  await gyms.reindex(progress);
  await rebuildMedia(MODEL.gym, ids, progress, 'files of gyms');
  return `Rebuilt the search words, boosts, and files of ${pluralize(await rebuildBoosts(progress), 'gym')}.`;
});
