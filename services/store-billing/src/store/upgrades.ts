/** What releases before this one have stored otherwise. */
import { inTransaction, isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import type { Upgrade } from '@fitness/shared/mongo/upgrades.ts';
import type { Collection, Connection } from 'mongoose';
import { receiptKey } from './purchases.ts';

const BATCH = 500;

interface Row {
  _id: unknown;
  channel: string;
  purchase_token: string;
  [field: string]: unknown;
}

/** Hands every row that `query` finds to `change`, which returns whether it has changed it; once each. */
const eachRow = async (
  collection: Collection,
  query: Record<string, unknown>,
  change: (row: Row) => Promise<boolean>,
): Promise<number> => {
  let changed = 0;
  const rows = collection.find(query, { batchSize: BATCH });
  for await (const row of rows) if (await change(row as unknown as Row)) changed += 1;
  return changed;
};

export const storeBillingUpgrades = (connection: Connection): Upgrade[] => {
  // The store has registered them; their schemas would refuse to read the old forms.
  const [receipts, attempts, refunds] = ['StorePurchase', 'StorePurchaseAttempt', 'Refund'].map(
    (name) => connection.model(name).collection,
  ) as [Collection, Collection, Collection];

  /** A receipt had a number for its `_id`; a replay would not find it, and what it granted would be asked for again. */
  const moveReceipt = (row: Row): Promise<boolean> =>
    inTransaction(connection, async (session) => {
      const { deletedCount } = await receipts.deleteOne({ _id: row._id } as never, { session });
      if (deletedCount === 0) return false;
      const moved = { ...row, _id: receiptKey(row.channel, row.purchase_token), number: row._id };
      await receipts.insertOne(moved as never, { session });
      return true;
    });

  /** Two attempts at one purchase could both be owed; the one that is named first stays tied to it. */
  const nameOwed = async (row: Row): Promise<boolean> => {
    const { _id, owed_for, attempt_id, channel, purchase_token } = row;
    if (owed_for !== attempt_id) return false;
    const change = { $set: { owed_for: receiptKey(channel, purchase_token) } };
    try {
      const named = await refunds.updateOne({ _id, owed_for } as never, change);
      return named.modifiedCount === 1;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  };

  return [
    {
      name: 'receipts are found by channel and token',
      run: () => eachRow(receipts, { number: { $exists: false } }, moveReceipt),
    },
    {
      name: 'a presentation of an attempt has a text for its number',
      run: () =>
        eachRow(attempts, { revision: { $type: 'number' } }, async ({ _id, revision }) => {
          const change = { $set: { revision: String(revision) }, $unset: { owed: 1 } };
          const written = await attempts.updateOne({ _id, revision } as never, change);
          return written.modifiedCount === 1;
        }),
    },
    {
      name: 'what is owed is owed for a purchase',
      run: () => eachRow(refunds, { resolved_at: null }, nameOwed),
    },
  ];
};
