/** The states of a deposit at the bank gateway. Each change is one conditional update, so it happens once. */
import { type PageOf, type PageRequest, toPage } from '@fitness/shared/kernel/page.ts';
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { countMatches } from '@fitness/shared/mongo/count-matches.ts';
import { createDueRowQueue } from '@fitness/shared/mongo/due-queue.ts';
import type { Closure, VerifiedFields } from '../domain/deposit.ts';
import {
  CLOSED_STATES,
  type DisputeResolution,
  type GatewayReceipt,
  OPERATOR_STATES,
  type Payment,
} from '../domain/payment.ts';
import type { DepositMeta } from '../domain/payment-meta.ts';
import type { Models, PaymentDocument } from './models.ts';
import { fromDocument, toReportedDocument, toResolutionDocument } from './payment-document.ts';

export interface Deposits {
  /** Returns the credited deposit, or undefined when it is already credited or disputed. */
  markDepositDone(session: ClientSession, id: number, change: VerifiedFields): Promise<Payment | undefined>;
  /**
   * Closes a deposit that is not credited, and says when it is due again. One that is already closed with this state changes only if
   * it is never due again.
   */
  closeDeposit(id: number, closure: Closure): Promise<void>;
  /** Makes closed deposits that were created after `from` due at `checkAt` if they are never due. Returns their number. */
  lookAgain(from: Date, checkAt: Date): Promise<number>;
  /** Sets the state `mismatch`. False when the deposit is already disputed or credited. */
  disputeDeposit(session: ClientSession, id: number, reported: GatewayReceipt): Promise<boolean>;
  /**
   * Closes a deposit in state `mismatch`, as credited with these fields or as returned. Undefined when it is not in this state.
   */
  resolveDispute(
    session: ClientSession,
    id: number,
    change: { resolution: DisputeResolution; credited: VerifiedFields | null },
  ): Promise<Payment | undefined>;
  /** The newest deposits and incomes of a user that are in the balance. */
  newestCredits(session: ClientSession, userId: number): Promise<Payment[]>;
  /** Takes payments of an erased account out of its balance, and disputes the deposits and incomes. */
  holdPayments(session: ClientSession, payments: readonly Payment[]): Promise<void>;
  /** Payments in state `mismatch`, newest first. `userId`: those of one user. */
  openDisputes(request: PageRequest, userId?: number): Promise<PageOf<Payment>>;
  /** How many of these payments are stored and no longer open at the gateway. */
  countClosedDeposits(ids: readonly number[], session: ClientSession): Promise<number>;
  /** Deposits that are due for verification: open ones before closed ones, and of each the users take turns. */
  dueDeposits(now: Date, limit: number): Promise<Payment[]>;
  /** Postpones a due deposit to `until`. False when another replica has claimed it. */
  claimDeposit(id: number, now: Date, until: Date): Promise<boolean>;
}

/** What the gateway collected for a credited deposit of an erased account. */
const receiptIn = (meta: DepositMeta): GatewayReceipt => ({
  amountRial: meta.charged_rial ?? null,
  orderId: null,
  refNumber: meta.ref_number ?? null,
  cardNumber: null,
  paidAt: meta.paid_at ?? null,
});

/** An income is disputed only for an erased account. */
const DISPUTABLE = ['deposit', 'income'] as const;

/**
 * Several stages, which MongoDB combines into one condition: an index has the fields of the first, so that every planner uses it (ADR 101).
 * Open disputes have an index of their own.
 */
const disputesOf = (userId: number | undefined): { $match: object }[] => [
  ...(userId === undefined
    ? []
    : [{ $match: { user_id: userId } }, { $match: { type: { $in: [...DISPUTABLE] }, is_done: false } }]),
  { $match: { 'gateway.state': 'mismatch' } },
];

/** More than an account can be credited between the erasure and its event. */
const NEWEST = 200;

/** Deposits and incomes that operators decide about. */
const createDisputes = ({
  payments,
}: Models): Pick<
  Deposits,
  'disputeDeposit' | 'resolveDispute' | 'openDisputes' | 'newestCredits' | 'holdPayments'
> => ({
  newestCredits: async (session, userId) => {
    const newest = await payments
      .find({ user_id: userId }, null, { session })
      .sort({ _id: -1 })
      .limit(NEWEST)
      .lean<PaymentDocument[]>();
    return newest
      .map(fromDocument)
      .filter(({ type, isDone }) => isDone && (type === 'deposit' || type === 'income'));
  },
  holdPayments: async (session, held) => {
    for (const { id, userId, type, meta } of held) {
      const state = { 'gateway.state': 'mismatch', 'gateway.check_at': null };
      const change =
        type === 'deposit' && meta !== null && 'payable_amount' in meta
          ? {
              ...state,
              'gateway.reported': toReportedDocument(receiptIn(meta)),
              // An operator may have credited it. It is decided again, and the audit log has the first decision.
              'gateway.resolution': null,
            }
          : type === 'income'
            ? { gateway: { state: 'mismatch', check_at: null, reported: null, resolution: null } }
            : {};
      const filter = { _id: id, user_id: userId, is_done: true };
      await payments.updateOne(
        filter,
        { $set: { ...change, is_done: false }, $inc: { version: 1 } },
        { session },
      );
    }
  },
  disputeDeposit: async (session, id, reported) => {
    const disputed = await payments.updateOne(
      { _id: id, type: 'deposit', is_done: false, 'gateway.state': trusted({ $nin: [...OPERATOR_STATES] }) },
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
        {
          ...{ _id: id, type: trusted({ $in: [...DISPUTABLE] }), is_done: false },
          'gateway.state': 'mismatch',
        },
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
  openDisputes: async (request, userId) => {
    const after = request.mode === 'cursor' ? request.after[0] : undefined;
    const open = disputesOf(userId);
    const rows = await payments.aggregate<PaymentDocument>([
      ...open,
      { $match: after === undefined ? {} : { _id: { $lt: after } } },
      { $sort: { _id: -1 } },
      { $skip: request.mode === 'page' ? request.skip : 0 },
      { $limit: request.perPage + 1 },
    ]);
    const total = request.mode === 'cursor' ? undefined : await countMatches(payments, open);
    return toPage(rows.map(fromDocument), request, ({ id }) => id, total);
  },
});

export const createDeposits = (models: Models): Deposits => {
  const { payments } = models;
  // Deposits that are never verified again have no `check_at`.
  const createQueue = (filter: Record<string, unknown>) =>
    createDueRowQueue(payments, { due: 'gateway.check_at', user: 'user_id', filter }, fromDocument);
  const takeOpen = createQueue({ 'gateway.state': 'open' });
  const takeClosed = createQueue({ 'gateway.state': { $ne: 'open' } });
  return {
    ...createDisputes(models),
    markDepositDone: async (session, id, { meta, description }) => {
      const done = await payments
        .findOneAndUpdate(
          {
            _id: id,
            type: 'deposit',
            is_done: false,
            'gateway.state': trusted({ $nin: [...OPERATOR_STATES] }),
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
    closeDeposit: async (id, { state, checkAt }) => {
      const excluded = checkAt === null ? [...OPERATOR_STATES] : [state, ...OPERATOR_STATES];
      await payments.updateOne(
        { _id: id, type: 'deposit', is_done: false, 'gateway.state': trusted({ $nin: excluded }) },
        { $set: { 'gateway.state': state, 'gateway.check_at': checkAt }, $inc: { version: 1 } },
      );
    },
    lookAgain: async (from, checkAt) => {
      const changed = await payments.updateMany(
        {
          ...{ type: 'deposit', is_done: false, is_rejected: false, created_at: trusted({ $gt: from }) },
          'gateway.state': trusted({ $in: [...CLOSED_STATES] }),
          'gateway.check_at': null,
        },
        { $set: { 'gateway.check_at': checkAt } },
      );
      return changed.modifiedCount;
    },
    countClosedDeposits: async (ids, session) => {
      const stored = await payments
        .find({ _id: trusted({ $in: [...ids] }) }, { 'gateway.state': 1 }, { session })
        .lean<PaymentDocument[]>();
      return stored.filter(({ gateway }) => gateway?.state !== 'open').length;
    },
    dueDeposits: async (now, limit) => {
      const open = await takeOpen(now, limit);
      return open.length === limit ? open : [...open, ...(await takeClosed(now, limit - open.length))];
    },
    claimDeposit: async (id, now, until) => {
      const claimed = await payments.updateOne(
        { _id: id, is_done: false, 'gateway.check_at': trusted({ $lte: now }) },
        { $set: { 'gateway.check_at': until } },
      );
      return claimed.modifiedCount === 1;
    },
  };
};
