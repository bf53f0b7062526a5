/** Removes personal data from the payments of an erased account, in steps. */
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import type { Models, PaymentDocument } from './models.ts';

type Erased = Pick<PaymentDocument, '_id' | 'type' | 'is_done' | 'is_rejected' | 'meta' | 'gateway'>;

const SHOWN = { type: 1, is_done: 1, is_rejected: 1, meta: 1, gateway: 1 };

/** Every payment changes, so a concurrent settlement conflicts and its retry sees that the account is erased. */
const changeOf = ({ type, is_done, is_rejected, meta, gateway }: Erased): Record<string, object> => {
  const isPaidDeposit = type === 'deposit' && meta !== null && 'card_number' in meta;
  const isClosedWithdrawal = type === 'withdrawal' && (is_done || is_rejected) && meta !== null;
  const { reported = null, resolution = null } = gateway ?? {};
  return {
    $set: {
      description: null,
      ...(isPaidDeposit && { 'meta.card_number': null }),
      ...(isClosedWithdrawal && { 'meta.bank_account_number': null }),
      ...(reported !== null && { 'gateway.reported.card_number': null }),
      ...(resolution !== null && { 'gateway.resolution.note': null }),
    },
    ...(isClosedWithdrawal && { $unset: { 'meta.reason': '', 'meta.reference': '' } }),
    $inc: { version: 1 },
  };
};

export const createErasePersonal =
  ({ payments, wallets }: Models) =>
  async (session: ClientSession, userId: number, limit: number): Promise<number> => {
    const wallet = await wallets.findById(userId, { erased_through: 1 }, { session }).lean();
    const batch = await payments
      .aggregate<Erased>([
        // Two stages, as in payment-history.ts: every query planner uses an index for the first.
        { $match: { user_id: userId } },
        { $match: { _id: { $gt: wallet?.erased_through ?? 0 } } },
        { $sort: { _id: 1 } },
        { $limit: limit },
        { $project: SHOWN },
      ])
      .session(session);
    const last = batch.at(-1);
    if (last === undefined) return 0;
    // There are only a few groups, one per kind of payment.
    const groups = Map.groupBy(batch, (payment) => JSON.stringify(changeOf(payment)));
    for (const [change, alike] of groups) {
      const ids = alike.map(({ _id }) => _id);
      await payments.updateMany({ _id: trusted({ $in: ids }) }, JSON.parse(change), { session });
    }
    await wallets.updateOne({ _id: userId }, { $set: { erased_through: last._id } }, { session });
    return batch.length;
  };
