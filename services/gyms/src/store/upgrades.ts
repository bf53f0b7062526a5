/** Upgrades of data that older releases have stored (docs/adr/0014). */
import { NO_PROGRESS } from '@fitness/shared/kernel/progress.mjs';
import { FOLDING_UPGRADE } from '@fitness/shared/kernel/text-search.ts';
import type { Upgrade } from '@fitness/shared/mongo/upgrades.ts';
import type { Store } from './store.ts';

export const createUpgrades = ({ gyms }: Pick<Store, 'gyms'>): Upgrade[] => [
  // Version 1.0.0 stored the grams in the gyms.
  { name: `${FOLDING_UPGRADE}, apart from the gyms`, run: () => gyms.reindex(NO_PROGRESS) },
];
