/** Purchases that were paid for at the store and cannot be granted: what the operators owe back. */
import type { PageOf, PageRequest } from '@fitness/shared/http/pagination.ts';
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import type { Sequences } from '@fitness/shared/mongo/sequence.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import type { Attempt, Presentation } from '../domain/attempt.ts';
import { nextLookAt } from '../domain/purchase.ts';
import type { Models, RefundDocument } from './models.ts';

export interface Refund extends Presentation {
  id: number;
  attemptId: string;
  /** Why it could not be granted. */
  reason: string;
  createdAt: Date;
}

export interface Refunds {
  /** Puts the attempt into the queue; nothing happens when it is there. */
  owe(attempt: Attempt, reason: string, now: Date): Promise<void>;
  /** Takes what is owed for an attempt out of the queue. */
  resolve(
    attemptId: string,
    resolution: 'refunded' | 'granted',
    now: Date,
    session?: ClientSession,
  ): Promise<void>;
  page(request: PageRequest): Promise<PageOf<Refund>>;
  toLookAt(channel: string, now: Date, limit: number): Promise<Refund[]>;
  claimLook(refund: Refund, now: Date): Promise<boolean>;
}

const toRefund = (found: RefundDocument): Refund => ({
  id: found._id,
  attemptId: found.attempt_id,
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

/** Partial, so that not every planner takes it by itself. */
const OWED_FOR = { owed_for: 1 } as const;

const createPage =
  ({ refunds }: Models): Refunds['page'] =>
  async (request) => {
    const owed = { resolved_at: null };
    const bound = request.mode === 'cursor' ? { $lt: request.after[0] ?? 0 } : { $gt: 0 };
    const rows = await refunds
      .find({ ...owed, _id: trusted(bound) })
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
          owed_for: id,
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
    resolve: async (attemptId, resolution, now, session) => {
      await refunds.updateOne(
        { owed_for: attemptId },
        { $set: { owed_for: null, resolved_at: now, resolution, look_due_at: null } },
        { hint: OWED_FOR, ...(session === undefined ? {} : { session }) },
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
    claimLook: async ({ id, createdAt }, now) => {
      const claimed = await refunds.updateOne(
        { _id: id, look_due_at: trusted({ $lte: now }) },
        { $set: { look_due_at: nextLookAt(createdAt, now) } },
      );
      return claimed.modifiedCount === 1;
    },
  };
};
