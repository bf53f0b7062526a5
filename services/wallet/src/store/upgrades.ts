/** Upgrades of data that older releases have stored (docs/adr/0014). */
import type { Clock } from '@fitness/shared/kernel/clock.ts';
import type { Upgrade } from '@fitness/shared/mongo/upgrades.ts';
import { LOOK_ENDS_MS } from '../domain/deposit.ts';
import type { Store } from './store.ts';

export const createUpgrades = ({ store, clock }: { store: Store; clock: Clock }): Upgrade[] => [
  // 1.0.0 never asked the gateway about a closed deposit, which may still be paid there.
  {
    name: 'closed deposits are verified until their look ends',
    run: () => {
      const now = clock.now();
      return store.payments.lookAgain(new Date(now.getTime() - LOOK_ENDS_MS), now);
    },
  },
];
