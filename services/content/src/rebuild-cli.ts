/** `npm run rebuild:content`: corrects the read models and counters of this service, which may keep running. */
import { pluralize } from '@fitness/shared/kernel/pluralize.ts';
import { runRebuild } from '@fitness/shared/runtime/rebuild.ts';
import { readConfig } from './config.ts';
import { createDependencies } from './dependencies.ts';
import { createUseCases } from './use-cases.ts';

await runRebuild('content', readConfig, async (runtime, config, progress) => {
  const { rebuild } = createUseCases(createDependencies(runtime, config));
  const done = await rebuild(progress);
  return `Rebuilt ${pluralize(done.profiles, 'profile')} and ${pluralize(done.trainingServices, 'training service')}.`;
});
