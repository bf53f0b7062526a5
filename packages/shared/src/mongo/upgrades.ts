/**
 * Migrations of stored data (ADR 14). Each upgrade runs once per database, before the process is ready.
 */
import type { Connection, Model } from 'mongoose';
import type { Clock } from '../kernel/clock.ts';
import { type Notice, withNotice } from './notice.ts';
import { retain, schemaOf } from './privacy.ts';

export interface Upgrade {
  /** Never changes: an upgrade whose name is recorded is not run again. */
  name: string;
  /**
   * Migrates the data and returns the number of changed documents. Several replicas may run it at once, and a replica may
   * crash during it: every step must be repeatable and skip migrated documents.
   */
  run(): Promise<number>;
}

interface UpgradeDocument {
  _id: string;
  done_at: Date;
}

const upgradeSchema = schemaOf<UpgradeDocument>(
  { collection: 'upgrades', versionKey: false },
  retain('which upgrades of stored data are done', {
    _id: { type: String, required: true },
    done_at: { type: Date, required: true },
  }),
);

const registerUpgrades = (connection: Connection): Model<UpgradeDocument> =>
  connection.models.Upgrade ?? connection.model<UpgradeDocument>('Upgrade', upgradeSchema);

/**
 * Runs the `upgrades` that are not recorded in this database, in order. The log reports one that takes long. Rejects with the
 * error of an upgrade.
 */
export const upgradeData = async (
  { connection, clock, ...notice }: { connection: Connection; clock: Clock } & Notice,
  upgrades: readonly Upgrade[],
): Promise<void> => {
  if (upgrades.length === 0) return;
  const model = registerUpgrades(connection);
  const recorded = await model.find().lean<UpgradeDocument[]>();
  const done = new Set(recorded.map(({ _id }) => _id));
  for (const { name, run } of upgrades.filter((upgrade) => !done.has(upgrade.name))) {
    const changed = await withNotice(
      notice,
      { upgrade: name },
      'upgrading stored data of an older release',
      run,
    );
    await model.updateOne({ _id: name }, { $setOnInsert: { done_at: clock.now() } }, { upsert: true });
    if (changed > 0)
      notice.log.info({ upgrade: name, changed }, 'stored data of an older release was upgraded');
  }
};
