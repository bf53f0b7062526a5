/** Upgrades of data that older releases have stored (docs/adr/0014). Add new ones at the end. */
import { NO_PROGRESS } from '@fitness/shared/kernel/progress.mjs';
import { FOLDING_UPGRADE } from '@fitness/shared/kernel/text-search.ts';
import { type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import type { Upgrade } from '@fitness/shared/mongo/upgrades.ts';
import type { Dependencies } from '../dependencies.ts';
import { userModel } from './user-document.ts';

/**
 * 1.0.0 did not record whether a phone was proven. Without this upgrade the first reset of each account would remove its
 * second factor.
 */
const earlierPhonesAreProven = (connection: Connection): Upgrade => ({
  name: 'phones of earlier accounts are proven',
  run: async () => {
    const { modifiedCount } = await userModel(connection).updateMany(
      { phone_proven: trusted({ $exists: false }), erased_at: null },
      { $set: { phone_proven: true } },
    );
    return modifiedCount;
  },
});

export const createUpgrades = (
  connection: Connection,
  { store, sequences }: Dependencies,
): readonly Upgrade[] => [
  {
    // Version 1.0.0 stored search texts and grams in the accounts.
    name: `${FOLDING_UPGRADE}, apart from the accounts`,
    run: () => store.users.reindex(NO_PROGRESS),
  },
  earlierPhonesAreProven(connection),
  {
    name: 'public ids of OAuth grants',
    run: () => store.oauth.numberGrants(() => sequences.next('oauth_grants')),
  },
];
