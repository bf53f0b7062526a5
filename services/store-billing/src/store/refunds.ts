/** The refund queue: purchases that were paid at the store but cannot be granted. */
import { type PageOf, type PageRequest, toPage } from '@fitness/shared/kernel/page.ts';
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { countMatches } from '@fitness/shared/mongo/count-matches.ts';
import { createDueRowQueue } from '@fitness/shared/mongo/due-queue.ts';
import type { IsPersonal } from '@fitness/shared/mongo/privacy.ts';
import type { Sequences } from '@fitness/shared/mongo/sequence.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import { countWaiting, type Waiting } from '@fitness/shared/mongo/waiting.ts';
import type { Attempt, Presentation } from '../domain/attempt.ts';
import { nextReconciliationAt, RECONCILIATION_RETRY_MS } from '../domain/purchase.ts';
import type { Refund, RefundOutcome, RefundReason, RefundResolution } from '../domain/refund.ts';
import { isPersonalRefundField, type RefundDocument } from './models/refunds.ts';
import type { Models } from './models.ts';
import { receiptKey } from './purchases.ts';
import { fromTargetFields, toTargetFields } from './target-fields.ts';

export interface Refunds {
  /** Whether the stored field at this path is personal data. */
  isPersonal: IsPersonal;
  /** Does nothing if the purchase is already queued, even for another product or target. */
  enqueue(attempt: Attempt, reason: RefundReason, now: Date): Promise<void>;
  /** Removes a purchase from the queue. Does nothing if it is not queued. */
  resolve(purchase: Purchase, outcome: RefundOutcome, now: Date): Promise<void>;
  find(id: number): Promise<Refund | undefined>;
  /** The queued or refunded row of this purchase. */
  ofPurchase(purchase: Purchase): Promise<Refund | undefined>;
  /** Records that an operator refunded it. False if it has left the queue. */
  markRefunded(session: ClientSession, refund: Refund, resolution: RefundResolution): Promise<boolean>;
  /** Called in the transaction of the grant. False if it has left the queue. */
  markGranted(session: ClientSession, id: number, resolution: RefundResolution): Promise<boolean>;
  /**
   * Removes the notes from at most `limit` rows of a user and returns how many. Writes each row once, even without a note, so
   * a concurrent resolution conflicts and sees that the account is erased.
   */
  eraseNotes(session: ClientSession, userId: number, limit: number): Promise<number>;
  /** `userId` limits the page to one user’s purchases. */
  page(request: PageRequest, userId?: number): Promise<PageOf<Refund>>;
  /** Rows in the queue. */
  waiting(): Promise<Waiting>;
  /** Rows that are due to be reconciled; users take turns. */
  dueForReconciliation(channel: string, now: Date, limit: number): Promise<Refund[]>;
  /** Claims a due row for {@link RECONCILIATION_RETRY_MS}. False if another process holds it. */
  claimReconciliation(refund: Refund, now: Date): Promise<boolean>;
  /** If `next` is null, the row is not checked again. */
  scheduleReconciliation(refund: Refund, next: Date | null): Promise<void>;
}

type Purchase = Pick<Presentation, 'channel' | 'purchaseToken'>;

const fromDocument = (document: RefundDocument): Refund => ({
  id: document._id,
  attemptId: document.attempt_id,
  channel: document.channel,
  purchaseToken: document.purchase_token,
  productId: document.product_id,
  userId: document.user_id,
  target: fromTargetFields(document),
  reason: document.reason,
  createdAt: document.created_at,
  resolution:
    document.resolution === null || document.resolved_at === null
      ? null
      : {
          outcome: document.resolution,
          note: document.note ?? null,
          resolvedBy: document.resolved_by ?? null,
          resolvedAt: document.resolved_at,
          mark: document.mark,
        },
});

const toResolutionFields = ({ outcome, note, resolvedBy, resolvedAt, mark }: RefundResolution) => ({
  resolution: outcome,
  note,
  resolved_by: resolvedBy,
  resolved_at: resolvedAt,
  ...(mark === undefined ? {} : { mark }),
  look_due_at: null,
});

const createPage =
  ({ refunds }: Models): Refunds['page'] =>
  async (request, userId) => {
    // Two stages, which MongoDB merges into one condition. An index covers the fields of the first (ADR 101).
    const open = [
      ...(userId === undefined ? [] : [{ $match: { user_id: userId } }]),
      { $match: { resolved_at: null } },
    ];
    const rows = await refunds.aggregate<RefundDocument>([
      ...open,
      { $match: request.mode === 'cursor' ? { _id: { $lt: request.after[0] ?? 0 } } : {} },
      { $sort: { _id: -1 } },
      { $skip: request.mode === 'page' ? request.skip : 0 },
      { $limit: request.perPage + 1 },
    ]);
    const total = request.mode === 'page' ? await countMatches(refunds, open) : undefined;
    return toPage(rows.map(fromDocument), request, ({ id }) => id, total);
  };

const createEnqueue =
  ({ refunds }: Models, sequences: Sequences): Refunds['enqueue'] =>
  async (attempt, reason, now) => {
    const { id, channel, purchaseToken, productId, userId, target } = attempt;
    try {
      await refunds.create({
        _id: await sequences.next('refund'),
        attempt_id: id,
        owed_for: receiptKey(channel, purchaseToken),
        purchase_key: receiptKey(channel, purchaseToken),
        channel,
        purchase_token: purchaseToken,
        product_id: productId,
        user_id: userId,
        ...toTargetFields(target),
        reason,
        created_at: now,
        resolved_at: null,
        resolution: null,
        note: null,
        resolved_by: null,
        look_due_at: nextReconciliationAt(now, now),
      });
    } catch (error) {
      if (!isDuplicateKey(error, 'owed_for')) throw error;
    }
  };

const createEraseNotes =
  ({ refunds }: Models): Refunds['eraseNotes'] =>
  async (session, userId, limit) => {
    const rows = await refunds
      .aggregate<Pick<RefundDocument, '_id'>>([
        // Two stages, because every planner uses an index for the first.
        { $match: { user_id: userId } },
        { $match: { note_erased: { $ne: true } } },
        { $limit: limit },
        { $project: { _id: 1 } },
      ])
      .session(session);
    const ids = rows.map(({ _id }) => _id);
    const change = { $set: { note: null, note_erased: true } };
    if (ids.length > 0) await refunds.updateMany({ _id: trusted({ $in: ids }) }, change, { session });
    return ids.length;
  };

export const createRefunds = (models: Models, sequences: Sequences): Refunds => {
  const { refunds } = models;
  const takeToReconcile = createDueRowQueue(refunds, { due: 'look_due_at', user: 'user_id' }, fromDocument);
  return {
    isPersonal: isPersonalRefundField,
    enqueue: createEnqueue(models, sequences),
    resolve: async ({ channel, purchaseToken }, outcome, now) => {
      const resolution = { outcome, note: null, resolvedBy: null, resolvedAt: now };
      await refunds.updateOne(
        { owed_for: receiptKey(channel, purchaseToken) },
        { $set: { owed_for: null, ...toResolutionFields(resolution) } },
      );
    },
    find: async (id) => {
      const document = await refunds.findById(id).lean<RefundDocument>();
      return document === null ? undefined : fromDocument(document);
    },
    ofPurchase: async ({ channel, purchaseToken }) => {
      const documents = await refunds
        .find({ purchase_key: receiptKey(channel, purchaseToken) })
        .lean<RefundDocument[]>();
      const rows = documents.map(fromDocument).filter(({ resolution }) => resolution?.outcome !== 'granted');
      return rows.find(({ resolution }) => resolution !== null) ?? rows[0];
    },
    markRefunded: async (session, { id, channel, purchaseToken }, resolution) => {
      const purchase_key = receiptKey(channel, purchaseToken);
      const refunded = await refunds.updateOne(
        { _id: id, resolved_at: null },
        { $set: { owed_for: null, purchase_key, ...toResolutionFields(resolution) } },
        { session },
      );
      return refunded.matchedCount === 1;
    },
    markGranted: async (session, id, resolution) => {
      const granted = await refunds.updateOne(
        { _id: id, resolved_at: null },
        { $set: { owed_for: null, ...toResolutionFields(resolution) } },
        { session },
      );
      return granted.matchedCount === 1;
    },
    eraseNotes: createEraseNotes(models),
    page: createPage(models),
    waiting: () => countWaiting(refunds, { resolved_at: null }),
    dueForReconciliation: (channel, now, limit) => takeToReconcile(now, limit, { channel }),
    claimReconciliation: async ({ id }, now) => {
      const claimed = await refunds.updateOne(
        { _id: id, look_due_at: trusted({ $lte: now }) },
        { $set: { look_due_at: new Date(now.getTime() + RECONCILIATION_RETRY_MS) } },
      );
      return claimed.modifiedCount === 1;
    },
    scheduleReconciliation: async ({ id }, next) => {
      await refunds.updateOne({ _id: id, resolved_at: null }, { $set: { look_due_at: next } });
    },
  };
};
