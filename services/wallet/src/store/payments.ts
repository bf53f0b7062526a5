/** The payments, and the conditional updates that let each of them be settled once. */
import type { CursorKey, PageOf, PageRequest } from '@fitness/shared/http/pagination.ts';
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import type { Sequences } from '@fitness/shared/mongo/sequence.ts';
import { exact } from '../domain/money.ts';
import type {
  DepositMeta,
  GatewayReceipt,
  GatewayState,
  Payment,
  PaymentMeta,
  PaymentType,
} from '../domain/payment.ts';
import type { Models, PaymentDocument, ReportedDocument } from './models.ts';
import type { Insert } from './write-together.ts';

export interface PaymentFilter {
  userId?: number | undefined;
  type?: PaymentType | undefined;
  isDone?: boolean | undefined;
  rejected?: boolean | undefined;
  /** Both ends belong to it. */
  from?: Date | undefined;
  to?: Date | undefined;
  order: 'ASC' | 'DESC';
}

export interface Payments {
  /** Taken before the transaction starts, so that concurrent bookings do not conflict on the counter. */
  nextId(): Promise<number>;
  /** As many of them, in growing order. */
  nextIds(count: number): Promise<number[]>;
  /** The documents of payments, to be written with their entry. */
  insertOf(payments: readonly Payment[]): Insert;
  /** One that moves nothing yet: a deposit that begins. */
  insert(session: ClientSession, payment: Payment): Promise<void>;
  find(id: number, session?: ClientSession): Promise<Payment | undefined>;
  /** Those of `ids` that there are, in no order. */
  findMany(ids: readonly number[], session?: ClientSession): Promise<Payment[]>;
  findByTrackId(trackId: string): Promise<Payment | undefined>;
  page(filter: PaymentFilter, request: PageRequest): Promise<PageOf<Payment>>;
  countOpenWithdrawals(userId: number): Promise<number>;
  /** The deposit as credited; undefined when it already was. */
  markDepositDone(
    session: ClientSession,
    id: number,
    change: { meta: DepositMeta; description: string | null },
  ): Promise<Payment | undefined>;
  /** What was last heard of a deposit that is not credited. False when it was credited or closed meanwhile. */
  closeDeposit(id: number, state: Exclude<GatewayState, 'open' | 'done' | 'mismatch'>): Promise<boolean>;
  /** Sets aside, for good, a deposit for which the gateway took something else. False when it was before, or is credited. */
  disputeDeposit(session: ClientSession, id: number, reported: GatewayReceipt): Promise<boolean>;
  /** The deposits that were set aside, newest first. */
  disputed(request: PageRequest): Promise<PageOf<Payment>>;
  /** Open deposits that are due to be asked about, the longest due first. */
  dueDeposits(now: Date, limit: number): Promise<Payment[]>;
  /** Takes a due deposit, so that another replica leaves it alone until `until`. False when it was taken. */
  claimDeposit(id: number, now: Date, until: Date): Promise<boolean>;
  /** The withdrawal as paid or rejected; undefined when it was settled before, or is none. */
  settleWithdrawal(
    session: ClientSession,
    id: number,
    outcome: { paid: true } | { paid: false; at: Date },
  ): Promise<Payment | undefined>;
  /** Removes what is personal from a user's payments; the amounts stay. */
  erasePersonal(session: ClientSession, userId: number): Promise<void>;
  /** By id, from the one after `id` on; for the auditor. */
  after(id: number, limit: number, session: ClientSession): Promise<Payment[]>;
  /** All of these users, by user and id; for the auditor. */
  ofUsers(userIds: readonly number[], session: ClientSession): AsyncIterable<Payment>;
}

const toReceipt = (found: ReportedDocument): GatewayReceipt => ({
  amountRial: found.amount_rial,
  orderId: found.order_id,
  refNumber: found.ref_number,
  cardNumber: found.card_number,
  paidAt: found.paid_at,
});

const fromReceipt = (receipt: GatewayReceipt): ReportedDocument => ({
  amount_rial: receipt.amountRial,
  order_id: receipt.orderId,
  ref_number: receipt.refNumber,
  card_number: receipt.cardNumber,
  paid_at: receipt.paidAt,
});

const toPayment = (found: PaymentDocument): Payment => ({
  id: found._id,
  userId: found.user_id,
  type: found.type,
  amount: found.amount,
  description: found.description,
  payableType: found.payable_type,
  payableId: found.payable_id,
  meta: found.meta as PaymentMeta | null,
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
          reported: found.gateway.reported === null ? null : toReceipt(found.gateway.reported),
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
          reported: payment.gateway.reported === null ? null : fromReceipt(payment.gateway.reported),
        },
});

const toQuery = (filter: PaymentFilter): Record<string, unknown> => ({
  ...(filter.userId === undefined ? {} : { user_id: filter.userId }),
  ...(filter.type === undefined ? {} : { type: filter.type }),
  ...(filter.isDone === undefined ? {} : { is_done: filter.isDone }),
  ...(filter.rejected === undefined ? {} : { rejected_at: filter.rejected ? trusted({ $ne: null }) : null }),
  ...(filter.from === undefined && filter.to === undefined
    ? {}
    : {
        created_at: trusted({
          ...(filter.from === undefined ? {} : { $gte: filter.from }),
          ...(filter.to === undefined ? {} : { $lte: filter.to }),
        }),
      }),
});

const createPage =
  ({ payments }: Models) =>
  async (filter: PaymentFilter, request: PageRequest): Promise<PageOf<Payment>> => {
    const query = toQuery(filter);
    const ascending = filter.order === 'ASC';
    const after = request.mode === 'cursor' ? request.after[0] : undefined;
    // There is always a bound on `_id`, so that no combination of filters is without an index.
    const bound = after === undefined ? { $gt: 0 } : ascending ? { $gt: after } : { $lt: after };
    const rows = await payments
      .find({ ...query, _id: trusted(bound) })
      .sort({ _id: ascending ? 1 : -1 })
      .skip(request.mode === 'page' ? request.skip : 0)
      .limit(request.perPage + 1)
      .lean<PaymentDocument[]>();
    const shown = rows.slice(0, request.perPage).map(toPayment);
    const last = shown.at(-1);
    const next: CursorKey | undefined =
      rows.length > request.perPage && last !== undefined ? [last.id] : undefined;
    return { rows: shown, total: await count(payments, query, request), next };
  };

const count = async (
  payments: Models['payments'],
  query: Record<string, unknown>,
  request: PageRequest,
): Promise<number | undefined> => {
  if (request.mode === 'cursor') return undefined;
  // Without a filter the collection knows its own size.
  if (Object.keys(query).length === 0) return payments.estimatedDocumentCount();
  return payments.countDocuments({ ...query, _id: trusted({ $gt: 0 }) });
};

type DepositStates = Pick<
  Payments,
  'markDepositDone' | 'closeDeposit' | 'disputeDeposit' | 'disputed' | 'dueDeposits' | 'claimDeposit'
>;

const createDepositStates = ({ payments }: Models): DepositStates => ({
  markDepositDone: async (session, id, { meta, description }) => {
    const done = await payments
      .findOneAndUpdate(
        { _id: id, type: 'deposit', is_done: false, 'gateway.state': trusted({ $ne: 'mismatch' }) },
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
    return done === null ? undefined : toPayment(done);
  },
  closeDeposit: async (id, state) => {
    const closed = await payments.updateOne(
      { _id: id, type: 'deposit', is_done: false, 'gateway.state': trusted({ $nin: [state, 'mismatch'] }) },
      { $set: { 'gateway.state': state, 'gateway.check_at': null }, $inc: { version: 1 } },
    );
    return closed.modifiedCount === 1;
  },
  disputeDeposit: async (session, id, reported) => {
    const disputed = await payments.updateOne(
      { _id: id, type: 'deposit', is_done: false, 'gateway.state': trusted({ $ne: 'mismatch' }) },
      {
        $set: {
          'gateway.state': 'mismatch',
          'gateway.check_at': null,
          'gateway.reported': fromReceipt(reported),
        },
        $inc: { version: 1 },
      },
      { session },
    );
    return disputed.modifiedCount === 1;
  },
  disputed: async (request) => {
    const after = request.mode === 'cursor' ? request.after[0] : undefined;
    const state: Record<string, unknown> = { 'gateway.state': 'mismatch' };
    const rows = await payments
      .find({ ...state, _id: trusted(after === undefined ? { $gt: 0 } : { $lt: after }) })
      .sort({ _id: -1 })
      .skip(request.mode === 'page' ? request.skip : 0)
      .limit(request.perPage + 1)
      .lean<PaymentDocument[]>();
    const shown = rows.slice(0, request.perPage).map(toPayment);
    const last = shown.at(-1);
    const next: CursorKey | undefined =
      rows.length > request.perPage && last !== undefined ? [last.id] : undefined;
    const total = request.mode === 'cursor' ? undefined : await payments.countDocuments(state);
    return { rows: shown, total, next };
  },
  dueDeposits: async (now, limit) => {
    const due = await payments
      .find({ 'gateway.state': 'open', 'gateway.check_at': trusted({ $lte: now }) })
      .sort({ 'gateway.check_at': 1 })
      .limit(limit)
      .lean<PaymentDocument[]>();
    return due.map(toPayment);
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
    return found === null ? undefined : toPayment(found);
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
      return found.map(toPayment);
    },
    findByTrackId: (trackId) => one({ 'gateway.track_id': trackId }),
    page: createPage(models),
    countOpenWithdrawals: (userId) =>
      payments.countDocuments({ user_id: userId, type: 'withdrawal', is_done: false, rejected_at: null }),
    ...createDepositStates(models),
    settleWithdrawal: async (session, id, outcome) => {
      const settled = await payments
        .findOneAndUpdate(
          { _id: id, type: 'withdrawal', is_done: false, rejected_at: null },
          {
            $set: outcome.paid ? { is_done: true } : { rejected_at: outcome.at },
            $inc: { version: 1 },
          },
          { session, returnDocument: 'after' },
        )
        .lean<PaymentDocument>();
      return settled === null ? undefined : toPayment(settled);
    },
    erasePersonal: async (session, userId) => {
      await payments.updateMany({ user_id: userId }, { $set: { description: null } }, { session });
      await payments.updateMany(
        { user_id: userId, type: 'deposit', is_done: true },
        { $set: { 'meta.card_number': null } },
        { session },
      );
      await payments.updateMany(
        { user_id: userId, 'gateway.state': 'mismatch' },
        { $set: { 'gateway.reported.card_number': null } },
        { session },
      );
    },
    after: async (id, limit, session) => {
      const found = await payments
        .find({ _id: trusted({ $gt: id }) }, null, { session })
        .sort({ _id: 1 })
        .limit(limit)
        .lean<PaymentDocument[]>();
      return found.map(toPayment);
    },
    ofUsers: async function* (userIds, session) {
      const query = payments
        .find({ user_id: trusted({ $in: [...userIds] }) }, null, { session })
        .sort({ user_id: 1, _id: 1 });
      for await (const found of query.lean<PaymentDocument[]>().cursor())
        yield toPayment(found as PaymentDocument);
    },
  };
};
