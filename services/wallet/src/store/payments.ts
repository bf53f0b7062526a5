/** The payments. Conditional updates settle each of them once. */

import type { PaymentType } from '@fitness/contracts/payment-types.ts';
import { HOUR_MS } from '@fitness/shared/kernel/clock.ts';
import type { PageOf, PageRequest } from '@fitness/shared/kernel/page.ts';
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import type { IsPersonal } from '@fitness/shared/mongo/privacy.ts';
import type { Sequences } from '@fitness/shared/mongo/sequence.ts';
import { countWaiting, type Waiting } from '@fitness/shared/mongo/waiting.ts';
import type { UpdateQuery } from 'mongoose';
import type { Claim, Payment, Settlement } from '../domain/payment.ts';
import type { WithdrawalMeta } from '../domain/payment-meta.ts';
import type { Insert } from './bulk-write.ts';
import { createDeposits, type Deposits } from './deposits.ts';
import { isPersonalPaymentField, type Models, type PaymentDocument } from './models.ts';
import { fromDocument, toDocument } from './payment-document.ts';
import { createErasePersonal } from './payment-erasure.ts';
import { createHours, createPage, type PaymentFilter, type PaymentHour } from './payment-history.ts';

/**
 * `deposit`: open at the bank, or not verified in time. `withdrawal`: to be paid or rejected. `dispute`: a deposit to be resolved by an
 * operator.
 */
type WaitingKind = 'deposit' | 'withdrawal' | 'dispute';

export interface Payments extends Deposits {
  /** Takes the path of a stored field. */
  isPersonal: IsPersonal;
  /** Runs outside of any transaction, so concurrent bookings do not conflict on the counter. */
  nextId(): Promise<number>;
  /** `count` ids in ascending order. */
  nextIds(count: number): Promise<number[]>;
  /** Makes the next id larger than `id`. */
  skipIds(id: number): Promise<void>;
  /** The insert of payments, to be written with their entry. */
  insertOf(payments: readonly Payment[]): Insert;
  /** Inserts a payment without an entry: an open deposit. */
  insert(session: ClientSession, payment: Payment): Promise<void>;
  find(id: number, session?: ClientSession): Promise<Payment | undefined>;
  /** Unordered; unknown ids are missing. */
  findMany(ids: readonly number[], session?: ClientSession): Promise<Payment[]>;
  findByTrackId(trackId: string): Promise<Payment | undefined>;
  page(filter: PaymentFilter, request: PageRequest): Promise<PageOf<Payment>>;
  /** Counts by the hour of creation, from `from` on. */
  hours(type: PaymentType, from: Date): Promise<PaymentHour[]>;
  countOpenWithdrawals(userId: number): Promise<number>;
  /** What waits for the bank or for an operator. */
  waiting(now: Date): Promise<Record<WaitingKind, Waiting>>;
  /**
   * Marks a withdrawal as paid, or as rejected with `rejectedAt`. Undefined when it is already settled or not a withdrawal.
   */
  settleWithdrawal(
    session: ClientSession,
    id: number,
    change: { rejectedAt: Date | null; meta: WithdrawalMeta | null; settlement: Settlement },
  ): Promise<Payment | undefined>;
  /** Stores who is about to pay a withdrawal. Undefined when it is settled or not a withdrawal. */
  claimWithdrawal(session: ClientSession, id: number, claim: Claim | null): Promise<Payment | undefined>;
  /**
   * Removes personal data from the next payments of a user whose wallet is marked, at most `limit`. Returns their number. The
   * amounts stay, and an open withdrawal keeps its bank account until it is settled.
   */
  erasePersonal(session: ClientSession, userId: number, limit: number): Promise<number>;
  /** Ordered by id, after `id`; for the audit. */
  after(id: number, limit: number, session: ClientSession): Promise<Payment[]>;
  /** An estimate for the progress of the audit: the database's count may be off after a crash. */
  estimate(): Promise<number>;
  /** All payments of these users, ordered by user and id; for the audit. */
  ofUsers(userIds: readonly number[], session: ClientSession): AsyncIterable<Payment>;
}

/** A closed deposit is verified every hour. */
const OVERDUE_MS = HOUR_MS;

const createAuditReads = (
  payments: Models['payments'],
): Pick<Payments, 'after' | 'estimate' | 'ofUsers'> => ({
  after: async (id, limit, session) => {
    const documents = await payments
      .find({ _id: trusted({ $gt: id }) }, null, { session })
      .sort({ _id: 1 })
      .limit(limit)
      .lean<PaymentDocument[]>();
    return documents.map(fromDocument);
  },
  estimate: () => payments.estimatedDocumentCount(),
  ofUsers: async function* (userIds, session) {
    const query = payments
      .find({ user_id: trusted({ $in: [...userIds] }) }, null, { session })
      .sort({ user_id: 1, _id: 1 });
    for await (const document of query.lean<PaymentDocument[]>().cursor())
      yield fromDocument(document as PaymentDocument);
  },
});

export const createPayments = (models: Models, sequences: Sequences): Payments => {
  const { payments } = models;
  const one = async (
    query: Record<string, unknown>,
    session?: ClientSession,
  ): Promise<Payment | undefined> => {
    const document = await payments.findOne(query, null, session && { session }).lean<PaymentDocument>();
    return document === null ? undefined : fromDocument(document);
  };
  const changeWithdrawal = async (
    session: ClientSession,
    id: number,
    change: UpdateQuery<PaymentDocument>,
  ): Promise<Payment | undefined> => {
    const changed = await payments
      .findOneAndUpdate(
        { _id: id, type: 'withdrawal', is_done: false, is_rejected: false },
        { ...change, $inc: { version: 1 } },
        { session, returnDocument: 'after' },
      )
      .lean<PaymentDocument>();
    return changed === null ? undefined : fromDocument(changed);
  };
  return {
    isPersonal: isPersonalPaymentField,
    nextId: () => sequences.next('payment'),
    nextIds: (count) => sequences.take('payment', count),
    skipIds: (id) => sequences.skip('payment', id),
    insertOf: (rows) => ({ collection: payments.collection, documents: rows.map(toDocument) }),
    insert: async (session, payment) => {
      await payments.collection.insertOne(toDocument(payment) as never, { session });
    },
    find: (id, session) => one({ _id: id }, session),
    findMany: async (ids, session) => {
      const documents = await payments
        .find({ _id: trusted({ $in: [...ids] }) }, null, session && { session })
        .lean<PaymentDocument[]>();
      return documents.map(fromDocument);
    },
    findByTrackId: (trackId) => one({ 'gateway.track_id': trackId }),
    page: createPage(models),
    hours: createHours(models),
    countOpenWithdrawals: (userId) =>
      payments.countDocuments({ user_id: userId, type: 'withdrawal', is_done: false, is_rejected: false }),
    waiting: async (now) => {
      const overdue = { 'gateway.check_at': { $lte: new Date(now.getTime() - OVERDUE_MS) } };
      const [deposit, withdrawal, dispute] = await Promise.all([
        // Every deposit that is verified again has a `check_at`, which has an index.
        countWaiting(
          payments,
          { 'gateway.check_at': { $gt: new Date(0) } },
          { $or: [{ 'gateway.state': 'open' }, overdue] },
        ),
        countWaiting(payments, { type: 'withdrawal', is_done: false, is_rejected: false }),
        countWaiting(payments, { 'gateway.state': 'mismatch' }),
      ]);
      return { deposit, withdrawal, dispute };
    },
    ...createDeposits(models),
    settleWithdrawal: (session, id, { rejectedAt, meta, settlement }) => {
      const outcome =
        rejectedAt === null ? { is_done: true } : { rejected_at: rejectedAt, is_rejected: true };
      return changeWithdrawal(session, id, { $set: { meta, settlement, ...outcome }, $unset: { claim: '' } });
    },
    claimWithdrawal: (session, id, claim) =>
      changeWithdrawal(session, id, claim === null ? { $unset: { claim: '' } } : { $set: { claim } }),
    erasePersonal: createErasePersonal(models),
    ...createAuditReads(payments),
  };
};
