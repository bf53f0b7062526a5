/** Upgrades of data that older releases have stored (docs/adr/0014). */
import type { Upgrade } from '@fitness/shared/mongo/upgrades.ts';

export const createUpgrades = ({
  publishRunningGrants,
}: {
  publishRunningGrants(): Promise<number>;
}): Upgrade[] => [
  // Identity, gyms and content keep copies that the events of 1.0.0 did not reach or fill.
  { name: 'running subscriptions and boosts are published again', run: publishRunningGrants },
];
