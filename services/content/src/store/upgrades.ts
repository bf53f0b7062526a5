/** Upgrades of data that older releases stored (docs/adr/0014). */
import { NO_PROGRESS } from '@fitness/shared/kernel/progress.mjs';
import { FOLDING_UPGRADE } from '@fitness/shared/kernel/text-search.ts';
import type { Upgrade } from '@fitness/shared/mongo/upgrades.ts';
import type { Store } from './store.ts';

export const createUpgrades = ({
  posts,
  trainingServices,
}: Pick<Store, 'posts' | 'trainingServices'>): Upgrade[] => [
  {
    // Version 1.0.0 stored the grams of posts in the posts.
    name: `${FOLDING_UPGRADE}, apart from the posts`,
    run: async () => (await posts.reindex(NO_PROGRESS)) + (await trainingServices.reindex(NO_PROGRESS)),
  },
];
