/** The payments. Conditional updates settle each of them once. */
import { type PageOf, type PageRequest, toPage } from '@fitness/shared/kernel/page.ts';
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import type { Sequences } from '@fitness/shared/mongo/sequence.ts';
import type { PipelineStage } from 'mongoose';
import { exact } from '../domain/money.ts';
import {
  type ClosedState,
  DISPUTED_STATES,
  type DisputeResolution,
  type GatewayReceipt,
  PAYMENT_TYPES,
  type Payment,
  type PaymentType,
} from '../domain/payment.ts';
import type { DepositMeta, WithdrawalMeta } from '../domain/payment-meta.ts';
import type { Insert } from './bulk-write.ts';
import type { Models, PaymentDocument, ReportedDocument, ResolutionDocument } from './models.ts';

interface VerifiedFields {
  meta: DepositMeta;
  description: string | null;
}

export interface PaymentFilter {
  userId?: number | undefined;
  type?: PaymentType | undefined;
  isDone?: boolean | undefined;
  rejected?: boolean | undefined;
  /** Inclusive, as `to`. */
  from?: Date | undefined;
  to?: Date | undefined;
  order: 'ASC' | 'DESC';
}

export interface Payments {
  /** Call it before the transaction, so that concurrent bookings do not conflict on the counter. */
  nextId(): Promise<number>;
  /** `count` ids in ascending order. */
  nextIds(count: number): Promise<number[]>;
  /** The insert of payments, to be written with their entry. */
  insertOf(payments: readonly Payment[]): Insert;
  /** Inserts a payment without an entry: an open deposit. */
  insert(session: ClientSession, payment: Payment): Promise<void>;
  find(id: number, session?: ClientSession): Promise<Payment | undefined>;
  /** Unordered; unknown ids are missing. */
  findMany(ids: readonly number[], session?: ClientSession): Promise<Payment[]>;
  findByTrackId(trackId: string): Promise<Payment | undefined>;
  page(filter: PaymentFilter, request: PageRequest): Promise<PageOf<Payment>>;
  countOpenWithdrawals(userId: number): Promise<number>;
  /** Returns the credited deposit; undefined when it is credited already or disputed. */
  markDepositDone(session: ClientSession, id: number, change: VerifiedFields): Promise<Payment | undefined>;
  /** Closes a deposit that is not credited. False when it is credited, disputed or closed with this state. */
  closeDeposit(id: number, state: ClosedState): Promise<boolean>;
  /** Sets the final state `mismatch`. False when the deposit is disputed already or credited. */
  disputeDeposit(session: ClientSession, id: number, reported: GatewayReceipt): Promise<boolean>;
  /**
   * Closes a deposit in state `mismatch`: as credited with these fields, or as returned. Undefined when it is not in this
   * state.
   */
  resolveDispute(
    session: ClientSession,
    id: number,
    change: { resolution: DisputeResolution; credited: VerifiedFields | null },
  ): Promise<Payment | undefined>;
  /** Deposits in state `mismatch`, newest first. */
  disputed(request: PageRequest): Promise<PageOf<Payment>>;
  /** Open deposits that are due for verification, the longest due first. */
  dueDeposits(now: Date, limit: number): Promise<Payment[]>;
  /** Postpones a due deposit to `until`. False when another replica has claimed it. */
  claimDeposit(id: number, now: Date, until: Date): Promise<boolean>;
  /**
   * Marks a withdrawal as paid, or as rejected with `rejectedAt`. Undefined when it is settled already or not a
   * withdrawal.
   */
  settleWithdrawal(
    session: ClientSession,
    id: number,
    change: { rejectedAt: Date | null; meta: WithdrawalMeta | null },
  ): Promise<Payment | undefined>;
  /**
   * Removes the personal data from a user's payments; the amounts stay, and the bank account of an open withdrawal until
   * it is settled.
   */
  erasePersonal(session: ClientSession, userId: number): Promise<void>;
  /** Ordered by id, after `id`; for the audit. */
  after(id: number, limit: number, session: ClientSession): Promise<Payment[]>;
  /** All payments of these users, ordered by user and id; for the audit. */
  ofUsers(userIds: readonly number[], session: ClientSession): AsyncIterable<Payment>;
}

const fromReportedDocument = (found: ReportedDocument): GatewayReceipt => ({
  amountRial: found.amount_rial,
  orderId: found.order_id,
  refNumber: found.ref_number,
  cardNumber: found.card_number,
  paidAt: found.paid_at,
});

const toReportedDocument = (receipt: GatewayReceipt): ReportedDocument => ({
  amount_rial: receipt.amountRial,
  order_id: receipt.orderId,
  ref_number: receipt.refNumber,
  card_number: receipt.cardNumber,
  paid_at: receipt.paidAt,
});

const fromResolutionDocument = (found: ResolutionDocument): DisputeResolution => ({
  outcome: found.outcome,
  note: found.note,
  resolvedBy: found.resolved_by,
  resolvedAt: found.resolved_at,
});

const toResolutionDocument = (resolution: DisputeResolution): ResolutionDocument => ({
  outcome: resolution.outcome,
  note: resolution.note,
  resolved_by: resolution.resolvedBy,
  resolved_at: resolution.resolvedAt,
});

const fromDocument = (found: PaymentDocument): Payment => ({
  id: found._id,
  userId: found.user_id,
  type: found.type,
  amount: found.amount,
  description: found.description,
  payableType: found.payable_type,
  payableId: found.payable_id,
  meta: found.meta,
  isDone: found.is_done,
  rejectedAt: found.rejected_at,
  createdAt: found.created_at,
  version: found.version,
  gateway:
    found.gateway === null
      ? null
      : {
          trackId: found.gateway.track_id,
          orderId: found.gateway.order_id,
          state: found.gateway.state,
          checkAt: found.gateway.check_at,
          reported: found.gateway.reported === null ? null : fromReportedDocument(found.gateway.reported),
          // An older release stored none.
          resolution:
            found.gateway.resolution == null ? null : fromResolutionDocument(found.gateway.resolution),
        },
});

const toDocument = (payment: Payment): PaymentDocument => ({
  _id: payment.id,
  user_id: payment.userId,
  type: payment.type,
  amount: exact(payment.amount),
  description: payment.description,
  payable_type: payment.payableType,
  payable_id: payment.payableId,
  meta: payment.meta === null ? null : { ...payment.meta },
  is_done: payment.isDone,
  rejected_at: payment.rejectedAt,
  is_rejected: payment.rejectedAt !== null,
  created_at: payment.createdAt,
  version: payment.version,
  gateway:
    payment.gateway === null
      ? null
      : {
          track_id: payment.gateway.trackId,
          order_id: payment.gateway.orderId,
          state: payment.gateway.state,
          check_at: payment.gateway.checkAt,
          reported: payment.gateway.reported === null ? null : toReportedDocument(payment.gateway.reported),
          resolution:
            payment.gateway.resolution === null ? null : toResolutionDocument(payment.gateway.resolution),
        },
});

const EITHER = [true, false];

/**
 * Two stages, which MongoDB combines into one condition. The first filters by one indexed field, which every planner
 * serves by an index. The second lists every value of the fields without a filter: for each combination an index is in
 * the order of the ids.
 */
const toStages = (filter: PaymentFilter): [PipelineStage.Match, PipelineStage.Match] => {
  const { userId, type, isDone, rejected, from, to } = filter;
  const types = { type: { $in: type === undefined ? [...PAYMENT_TYPES] : [type] } };
  const created = {
    ...(from === undefined ? {} : { $gte: from }),
    ...(to === undefined ? {} : { $lte: to }),
  };
  const rest = {
    is_done: { $in: isDone === undefined ? EITHER : [isDone] },
    is_rejected: { $in: rejected === undefined ? EITHER : [rejected] },
    ...(from === undefined && to === undefined ? {} : { created_at: created }),
  };
  return userId === undefined
    ? [{ $match: types }, { $match: rest }]
    : [{ $match: { user_id: userId } }, { $match: { ...types, ...rest } }];
};

/** The number of payments, their smallest and their largest id. */
interface Extent {
  total: number;
  first: number;
  last: number;
}

const extentOf = async (payments: Models['payments'], filter: PaymentFilter): Promise<Extent> => {
  // Grouped by type, the first field of the index: no payment is read.
  const each = {
    $group: { _id: '$type', total: { $sum: 1 }, first: { $min: '$_id' }, last: { $max: '$_id' } },
  };
  const extents = await payments.aggregate<Extent>([...toStages(filter), each]);
  return {
    total: extents.reduce((sum, { total }) => sum + total, 0),
    first: Math.min(...extents.map(({ first }) => first)),
    last: Math.max(...extents.map(({ last }) => last)),
  };
};

const createPage =
  ({ payments }: Models) =>
  async (filter: PaymentFilter, request: PageRequest): Promise<PageOf<Payment>> => {
    const { userId, from, to } = filter;
    const ascending = filter.order === 'ASC';
    const after = request.mode === 'cursor' ? request.after[0] : undefined;
    const isPeriod = userId === undefined && (from !== undefined || to !== undefined);
    // Ids grow with time: the id range of a period spares reading the payments outside it.
    const extent = isPeriod ? await extentOf(payments, filter) : undefined;
    const bound = {
      ...(extent === undefined ? {} : { $gte: extent.first, $lte: extent.last }),
      ...(after === undefined ? {} : ascending ? { $gt: after } : { $lt: after }),
    };
    const [indexed, rest] = toStages(filter);
    const rows = await payments.aggregate<PaymentDocument>([
      indexed,
      { $match: { ...rest.$match, ...(Object.keys(bound).length === 0 ? {} : { _id: bound }) } },
      { $sort: { _id: ascending ? 1 : -1 } },
      { $skip: request.mode === 'page' ? request.skip : 0 },
      { $limit: request.perPage + 1 },
    ]);
    const total = request.mode === 'cursor' ? undefined : (extent?.total ?? (await count(payments, filter)));
    return toPage(rows.map(fromDocument), request, ({ id }) => id, total);
  };

const count = async (payments: Models['payments'], filter: PaymentFilter): Promise<number> => {
  const { order: _order, ...fields } = filter;
  if (Object.values(fields).every((value) => value === undefined)) return payments.estimatedDocumentCount();
  return (await extentOf(payments, filter)).total;
};

type DepositStates = Pick<
  Payments,
  | 'markDepositDone'
  | 'closeDeposit'
  | 'disputeDeposit'
  | 'resolveDispute'
  | 'disputed'
  | 'dueDeposits'
  | 'claimDeposit'
>;

const createDepositStates = ({ payments }: Models): DepositStates => ({
  markDepositDone: async (session, id, { meta, description }) => {
    const done = await payments
      .findOneAndUpdate(
        {
          _id: id,
          type: 'deposit',
          is_done: false,
          'gateway.state': trusted({ $nin: [...DISPUTED_STATES] }),
        },
        {
          $set: {
            is_done: true,
            meta,
            description,
            'gateway.state': 'done',
            'gateway.check_at': null,
          },
          $inc: { version: 1 },
        },
        { session, returnDocument: 'after' },
      )
      .lean<PaymentDocument>();
    return done === null ? undefined : fromDocument(done);
  },
  closeDeposit: async (id, state) => {
    const closed = await payments.updateOne(
      {
        _id: id,
        type: 'deposit',
        is_done: false,
        'gateway.state': trusted({ $nin: [state, ...DISPUTED_STATES] }),
      },
      { $set: { 'gateway.state': state, 'gateway.check_at': null }, $inc: { version: 1 } },
    );
    return closed.modifiedCount === 1;
  },
  disputeDeposit: async (session, id, reported) => {
    const disputed = await payments.updateOne(
      { _id: id, type: 'deposit', is_done: false, 'gateway.state': trusted({ $nin: [...DISPUTED_STATES] }) },
      {
        $set: {
          'gateway.state': 'mismatch',
          'gateway.check_at': null,
          'gateway.reported': toReportedDocument(reported),
        },
        $inc: { version: 1 },
      },
      { session },
    );
    return disputed.modifiedCount === 1;
  },
  resolveDispute: async (session, id, { resolution, credited }) => {
    const resolved = await payments
      .findOneAndUpdate(
        { _id: id, type: 'deposit', is_done: false, 'gateway.state': 'mismatch' },
        {
          $set: {
            ...(credited === null ? {} : { is_done: true, ...credited }),
            'gateway.state': credited === null ? 'returned' : 'done',
            'gateway.resolution': toResolutionDocument(resolution),
          },
          $inc: { version: 1 },
        },
        { session, returnDocument: 'after' },
      )
      .lean<PaymentDocument>();
    return resolved === null ? undefined : fromDocument(resolved);
  },
  disputed: async (request) => {
    const after = request.mode === 'cursor' ? request.after[0] : undefined;
    const state: Record<string, unknown> = { 'gateway.state': 'mismatch' };
    const rows = await payments
      .find({ ...state, ...(after === undefined ? {} : { _id: trusted({ $lt: after }) }) })
      .sort({ _id: -1 })
      .skip(request.mode === 'page' ? request.skip : 0)
      .limit(request.perPage + 1)
      .lean<PaymentDocument[]>();
    const total = request.mode === 'cursor' ? undefined : await payments.countDocuments(state);
    return toPage(rows.map(fromDocument), request, ({ id }) => id, total);
  },
  dueDeposits: async (now, limit) => {
    const due = await payments
      // Only open deposits have a `check_at`.
      .find({ 'gateway.check_at': trusted({ $lte: now }) })
      .sort({ 'gateway.check_at': 1 })
      .limit(limit)
      .lean<PaymentDocument[]>();
    return due.map(fromDocument);
  },
  claimDeposit: async (id, now, until) => {
    const claimed = await payments.updateOne(
      { _id: id, is_done: false, 'gateway.check_at': trusted({ $lte: now }) },
      { $set: { 'gateway.check_at': until } },
    );
    return claimed.modifiedCount === 1;
  },
});

export const createPayments = (models: Models, sequences: Sequences): Payments => {
  const { payments } = models;
  const one = async (
    query: Record<string, unknown>,
    session?: ClientSession,
  ): Promise<Payment | undefined> => {
    const found = await payments
      .findOne(query)
      .session(session ?? null)
      .lean<PaymentDocument>();
    return found === null ? undefined : fromDocument(found);
  };
  return {
    nextId: () => sequences.next('payment'),
    nextIds: (count) => sequences.take('payment', count),
    insertOf: (rows) => ({ collection: payments.collection, documents: rows.map(toDocument) }),
    insert: async (session, payment) => {
      await payments.collection.insertOne(toDocument(payment) as never, { session });
    },
    find: (id, session) => one({ _id: id }, session),
    findMany: async (ids, session) => {
      const found = await payments
        .find({ _id: trusted({ $in: [...ids] }) })
        .session(session ?? null)
        .lean<PaymentDocument[]>();
      return found.map(fromDocument);
    },
    findByTrackId: (trackId) => one({ 'gateway.track_id': trackId }),
    page: createPage(models),
    countOpenWithdrawals: (userId) =>
      payments.countDocuments({ user_id: userId, type: 'withdrawal', is_done: false, is_rejected: false }),
    ...createDepositStates(models),
    settleWithdrawal: async (session, id, { rejectedAt, meta }) => {
      const settled = await payments
        .findOneAndUpdate(
          { _id: id, type: 'withdrawal', is_done: false, is_rejected: false },
          {
            $set: {
              meta,
              ...(rejectedAt === null ? { is_done: true } : { rejected_at: rejectedAt, is_rejected: true }),
            },
            $inc: { version: 1 },
          },
          { session, returnDocument: 'after' },
        )
        .lean<PaymentDocument>();
      return settled === null ? undefined : fromDocument(settled);
    },
    erasePersonal: async (session, userId) => {
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
        // Two stages, see toStages.
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
          { $set: { 'meta.bank_account_number': null }, $unset: { 'meta.reason': '' } },
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
    },
    after: async (id, limit, session) => {
      const found = await payments
        .find({ _id: trusted({ $gt: id }) }, null, { session })
        .sort({ _id: 1 })
        .limit(limit)
        .lean<PaymentDocument[]>();
      return found.map(fromDocument);
    },
    ofUsers: async function* (userIds, session) {
      const query = payments
        .find({ user_id: trusted({ $in: [...userIds] }) }, null, { session })
        .sort({ user_id: 1, _id: 1 });
      for await (const found of query.lean<PaymentDocument[]>().cursor())
        yield fromDocument(found as PaymentDocument);
    },
  };
};
