/** The number of waiting rows of a collection and the age of the oldest. The first filter must have an index. */
import type { Model } from 'mongoose';

export interface Waiting {
  count: number;
  /** When the oldest row was created (`created_at`); null without rows. */
  oldest: Date | null;
}

export const countWaiting = async <Document>(
  model: Model<Document>,
  ...filters: readonly Record<string, unknown>[]
): Promise<Waiting> => {
  const [group] = await model.aggregate<Waiting>([
    ...filters.map((filter) => ({ $match: filter })),
    { $group: { _id: null, count: { $sum: 1 }, oldest: { $min: '$created_at' } } },
  ]);
  return { count: group?.count ?? 0, oldest: group?.oldest ?? null };
};
