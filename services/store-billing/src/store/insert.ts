import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Model } from 'mongoose';

/**
 * Inserts a document through the driver, which saves the time of mongoose's validation. Schema defaults are not applied, so
 * `document` must be complete.
 */
export const insertUnvalidated = async <Document>(
  model: Model<Document>,
  session: ClientSession,
  document: Document,
): Promise<void> => {
  await model.collection.insertOne(document as never, { session });
};
