/**
 * What older releases have stored, brought into the form of this one: each upgrade once per database, before the
 * process says that it is ready.
 */
import { type Connection, type Model, Schema } from 'mongoose';
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { privacy, retain } from './privacy.ts';

export interface Upgrade {
  /** For ever the same: what was done once under a name is not done again. */
  name: string;
  /**
   * Changes what is stored and returns how many documents it has changed. Several replicas may run it at once, and one
   * may end in the middle of it: every step can be repeated, and a document that has the new form is left alone.
   */
  run(): Promise<number>;
}

interface UpgradeDocument {
  /** The name. */
  _id: string;
  done_at: Date;
}

const upgradeSchema = new Schema<UpgradeDocument>(
  { _id: { type: String, required: true }, done_at: { type: Date, required: true } },
  { collection: 'upgrades', versionKey: false },
);

privacy(upgradeSchema, retain('which upgrades of stored data are done', '_id', 'done_at'));

const registerUpgrades = (connection: Connection): Model<UpgradeDocument> =>
  connection.models.Upgrade ?? connection.model<UpgradeDocument>('Upgrade', upgradeSchema);

/** Runs those of `upgrades` that this database has not had, in their order. Rejects with what one of them throws. */
export const upgradeData = async (
  { connection, clock, log }: { connection: Connection; clock: Clock; log: Logger },
  upgrades: readonly Upgrade[],
): Promise<void> => {
  if (upgrades.length === 0) return;
  const model = registerUpgrades(connection);
  const known = await model.find().lean<UpgradeDocument[]>();
  const done = new Set(known.map(({ _id }) => _id));
  for (const { name, run } of upgrades.filter((upgrade) => !done.has(upgrade.name))) {
    const changed = await run();
    await model.updateOne({ _id: name }, { $setOnInsert: { done_at: clock.now() } }, { upsert: true });
    if (changed > 0)
      log.info({ upgrade: name, changed }, 'what an older release has stored has the form of this one');
  }
};
