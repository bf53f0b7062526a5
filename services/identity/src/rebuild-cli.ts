/** `npm run rebuild:identity`: corrects by which texts accounts are found, and the copies of their public files; it may run beside the service. */
import { counted } from '@fitness/shared/kernel/counted.ts';
import { runRebuild } from '@fitness/shared/runtime/rebuild.ts';
import { readConfig } from './config.ts';
import { createDependencies } from './dependencies.ts';
import { createUseCases } from './use-cases.ts';

await runRebuild('identity', readConfig, async (runtime, config, progress) => {
  const { rebuild } = createUseCases(await createDependencies(runtime, config));
  return `Rebuilt the search words and public files of ${counted(await rebuild(progress), 'account')}.`;
});
