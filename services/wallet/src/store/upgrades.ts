/** What releases before this one have stored otherwise. */
import type { Upgrade } from '@fitness/shared/mongo/upgrades.ts';
import type { Collection, Connection, Model } from 'mongoose';
import { entryHash } from '../domain/seal.ts';
import { toEntry } from './entries.ts';
import { type EntryDocument, type PaymentDocument, registerModels } from './models.ts';

const BATCH = 500;

/** Rewrites, in batches, whatever `query` finds; what was rewritten is not found again. */
const rewrite = async <Document extends { _id: unknown }>(
  model: Model<Document>,
  query: Record<string, unknown>,
  changeOf: (found: Document) => Record<string, unknown>,
): Promise<number> => {
  const collection = model.collection as unknown as Collection;
  let changed = 0;
  let found: Awaited<ReturnType<ReturnType<Collection['find']>['toArray']>>;
  do {
    found = await collection.find(query, { limit: BATCH }).toArray();
    for (const document of found) {
      const change = { $set: changeOf(document as unknown as Document) };
      const { modifiedCount } = await collection.updateOne({ ...query, _id: document._id }, change);
      changed += modifiedCount;
    }
  } while (found.length > 0);
  return changed;
};

export const walletUpgrades = (connection: Connection): Upgrade[] => {
  const { payments, entries } = registerModels(connection);
  return [
    {
      name: 'deposits name their order',
      // Until then the gateway was told the number of the payment, and nothing that it reports was kept.
      run: () =>
        rewrite<PaymentDocument>(
          payments,
          { 'gateway.track_id': { $exists: true }, 'gateway.order_id': { $exists: false } },
          ({ _id }) => ({ 'gateway.order_id': String(_id), 'gateway.reported': null }),
        ),
    },
    {
      name: 'entries carry the hash of their content',
      // What was booked before there was a hash is taken as it stands, once; its seal is the first that can tell.
      run: () =>
        rewrite<EntryDocument>(entries, { hash: { $exists: false } }, (found) => {
          const entry = toEntry(found);
          return { hash: entryHash(entry, entry.bookedAt), seal: null };
        }),
    },
  ];
};
