import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Model } from 'mongoose';

/**
 * Inserts a whole document of this model by the driver: it is typed, made by us alone, and part of every grant, so a
 * second look at each of its fields is not worth its time. Fields that the schema would fill in must be there.
 */
export const insertPlain = async <Document>(
  model: Model<Document>,
  session: ClientSession,
  document: Document,
): Promise<void> => {
  await model.collection.insertOne(document as never, { session });
};
