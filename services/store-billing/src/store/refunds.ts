/** Purchases that were paid for at the store and cannot be granted: what the operators owe back. */
import type { PageOf, PageRequest } from '@fitness/shared/http/pagination.ts';
import { trusted } from '@fitness/shared/mongo/connect.ts';
import type { Sequences } from '@fitness/shared/mongo/sequence.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import type { Attempt, Presentation } from '../domain/attempt.ts';
import { LOOK_LEASE_MS, nextLookAt } from '../domain/purchase.ts';
import type { Models, RefundDocument } from './models.ts';
import { receiptKey } from './purchases.ts';

export interface Refund extends Presentation {
  id: number;
  /** Why it could not be granted. */
  reason: string;
  createdAt: Date;
}

export interface Refunds {
  /** Puts the purchase into the queue; nothing happens when it is there, whatever it was presented for then. */
  owe(attempt: Attempt, reason: string, now: Date): Promise<void>;
  /** Takes what is owed for a purchase out of the queue. */
  resolve(purchase: Purchase, resolution: 'refunded' | 'granted', now: Date): Promise<void>;
  page(request: PageRequest): Promise<PageOf<Refund>>;
  toLookAt(channel: string, now: Date, limit: number): Promise<Refund[]>;
  /** Takes a due look, for an hour; false when somebody else has it. */
  claimLook(refund: Refund, now: Date): Promise<boolean>;
  /** Sets the next look; null for none. */
  looked(refund: Refund, next: Date | null): Promise<void>;
}

type Purchase = Pick<Presentation, 'channel' | 'purchaseToken'>;

const toRefund = (found: RefundDocument): Refund => ({
  id: found._id,
  channel: found.channel,
  purchaseToken: found.purchase_token,
  productId: found.product_id,
  userId: found.user_id,
  target:
    found.boostable_type === null || found.boostable_id === null
      ? null
      : { type: found.boostable_type, id: found.boostable_id },
  reason: found.reason,
  createdAt: found.created_at,
});

const createPage =
  ({ refunds }: Models): Refunds['page'] =>
  async (request) => {
    const owed = { resolved_at: null };
    const behind = request.mode === 'cursor' ? { _id: trusted({ $lt: request.after[0] ?? 0 }) } : {};
    const rows = await refunds
      .find({ ...owed, ...behind })
      .sort({ _id: -1 })
      .skip(request.mode === 'page' ? request.skip : 0)
      .limit(request.perPage + 1)
      .lean<RefundDocument[]>();
    const shown = rows.slice(0, request.perPage).map(toRefund);
    const last = shown.at(-1);
    return {
      rows: shown,
      total: request.mode === 'page' ? await refunds.countDocuments(owed) : undefined,
      next: rows.length > request.perPage && last !== undefined ? [last.id] : undefined,
    };
  };

export const createRefunds = (models: Models, sequences: Sequences): Refunds => {
  const { refunds } = models;
  return {
    owe: async (attempt, reason, now) => {
      const { id, channel, purchaseToken, productId, userId, target } = attempt;
      try {
        await refunds.create({
          _id: await sequences.next('refund'),
          attempt_id: id,
          owed_for: receiptKey(channel, purchaseToken),
          channel,
          purchase_token: purchaseToken,
          product_id: productId,
          user_id: userId,
          boostable_type: target?.type ?? null,
          boostable_id: target?.id ?? null,
          reason,
          created_at: now,
          resolved_at: null,
          resolution: null,
          look_due_at: nextLookAt(now, now),
        });
      } catch (error) {
        if (!isDuplicateKey(error, 'owed_for')) throw error;
      }
    },
    resolve: async ({ channel, purchaseToken }, resolution, now) => {
      await refunds.updateOne(
        { owed_for: receiptKey(channel, purchaseToken) },
        { $set: { owed_for: null, resolved_at: now, resolution, look_due_at: null } },
      );
    },
    page: createPage(models),
    toLookAt: async (channel, now, limit) => {
      const found = await refunds
        .find({ look_due_at: trusted({ $lte: now }), channel })
        .limit(limit)
        .lean<RefundDocument[]>();
      return found.map(toRefund);
    },
    claimLook: async ({ id }, now) => {
      const claimed = await refunds.updateOne(
        { _id: id, look_due_at: trusted({ $lte: now }) },
        { $set: { look_due_at: new Date(now.getTime() + LOOK_LEASE_MS) } },
      );
      return claimed.modifiedCount === 1;
    },
    looked: async ({ id }, next) => {
      await refunds.updateOne({ _id: id, resolved_at: null }, { $set: { look_due_at: next } });
    },
  };
};
