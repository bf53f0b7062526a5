/**
 * `npm run rebuild:identity`: rebuilds the search texts of accounts, and the copies of their public files and subscriptions.
 * The service may run meanwhile.
 */
import { pluralize } from '@fitness/shared/kernel/pluralize.ts';
import { runRebuild } from '@fitness/shared/runtime/rebuild.ts';
import { readConfig } from './config.ts';
import { createDependencies } from './dependencies.ts';
import { createUseCases } from './use-cases.ts';

await runRebuild('identity', readConfig, async (runtime, config, progress) => {
  const { rebuild } = createUseCases(await createDependencies(runtime, config));
  const rebuilt = pluralize(await rebuild(progress), 'account');
  return `Rebuilt the search words, public files and subscriptions of ${rebuilt}.`;
});
