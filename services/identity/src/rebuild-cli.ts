/**
 * `npm run rebuild:identity`: rebuilds the search texts of accounts and the copies of their public files.
 * The service may run meanwhile.
 */
import { counted } from '@fitness/shared/kernel/counted.ts';
import { runRebuild } from '@fitness/shared/runtime/rebuild.ts';
import { readConfig } from './config.ts';
import { createDependencies } from './dependencies.ts';
import { createUseCases } from './use-cases.ts';

await runRebuild('identity', readConfig, async (runtime, config, progress) => {
  const { rebuild } = createUseCases(await createDependencies(runtime, config));
  return `Rebuilt the search words and public files of ${counted(await rebuild(progress), 'account')}.`;
});
