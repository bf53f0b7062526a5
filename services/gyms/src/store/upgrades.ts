/** Upgrades of what older releases have stored (docs/adr/0014). */
import { FOLDING_UPGRADE } from '@fitness/shared/kernel/text-search.ts';
import type { Upgrade } from '@fitness/shared/mongo/upgrades.ts';
import type { Store } from './store.ts';

export const createUpgrades = ({ gyms }: Pick<Store, 'gyms'>): Upgrade[] => [
  { name: FOLDING_UPGRADE, run: gyms.reindex },
];
