/** What the erasure of an account does to its payments. */
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import type { Models } from './models.ts';

export const createErasePersonal =
  ({ payments }: Models) =>
  async (session: ClientSession, userId: number): Promise<void> => {
    // Changes each payment, so that a concurrent settlement conflicts and sees that the account is erased.
    await payments.updateMany(
      { user_id: userId },
      { $set: { description: null }, $inc: { version: 1 } },
      { session },
    );
    await payments.updateMany(
      { user_id: userId, type: 'deposit', is_done: true },
      { $set: { 'meta.card_number': null } },
      { session },
    );
    const idsOf = async (match: Record<string, unknown>): Promise<number[]> => {
      // Two stages, as in payment-history.ts: every planner serves the first by an index.
      const stages = [{ $match: { user_id: userId } }, { $match: match }, { $project: { _id: 1 } }];
      const found = await payments.aggregate<{ _id: number }>(stages).session(session);
      return found.map(({ _id }) => _id);
    };
    const withdrawals = await idsOf({
      type: 'withdrawal',
      $or: [{ is_done: true }, { is_rejected: true }],
      meta: { $ne: null },
    });
    if (withdrawals.length > 0)
      await payments.updateMany(
        { _id: trusted({ $in: withdrawals }) },
        { $set: { 'meta.bank_account_number': null }, $unset: { 'meta.reason': '', 'meta.reference': '' } },
        { session },
      );
    const disputed = await idsOf({ 'gateway.reported': { $ne: null } });
    if (disputed.length === 0) return;
    await payments.updateMany(
      { _id: trusted({ $in: disputed }) },
      { $set: { 'gateway.reported.card_number': null } },
      { session },
    );
    await payments.updateMany(
      {
        _id: trusted({ $in: disputed }),
        'gateway.resolution': trusted({ $ne: null }),
      },
      { $set: { 'gateway.resolution.note': null } },
      { session },
    );
  };
