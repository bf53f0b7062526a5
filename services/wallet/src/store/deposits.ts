/** The states of a deposit at the bank gateway. Each change is one conditional update, so it happens once. */
import { type PageOf, type PageRequest, toPage } from '@fitness/shared/kernel/page.ts';
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { countMatches } from '@fitness/shared/mongo/count-matches.ts';
import { createDueRowQueue } from '@fitness/shared/mongo/due-queue.ts';
import type { VerifiedFields } from '../domain/deposit.ts';
import {
  type ClosedState,
  type DisputeResolution,
  type GatewayReceipt,
  OPERATOR_STATES,
  type Payment,
} from '../domain/payment.ts';
import type { Models, PaymentDocument } from './models.ts';
import { fromDocument, toReportedDocument, toResolutionDocument } from './payment-document.ts';

export interface Deposits {
  /** Returns the credited deposit, or undefined when it is already credited or disputed. */
  markDepositDone(session: ClientSession, id: number, change: VerifiedFields): Promise<Payment | undefined>;
  /** Closes a deposit that is not credited. False when it is credited, disputed or already closed with this state. */
  closeDeposit(id: number, state: ClosedState): Promise<boolean>;
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
  /** Deposits in state `mismatch`, newest first. `userId`: those of one user. */
  openDisputes(request: PageRequest, userId?: number): Promise<PageOf<Payment>>;
  /** Open deposits of the user that were opened after `since`; at most `limit` are counted. */
  countOpenDeposits(userId: number, since: Date, limit: number, session?: ClientSession): Promise<number>;
  /** Open deposits that are due for verification; users take turns. */
  dueDeposits(now: Date, limit: number): Promise<Payment[]>;
  /** Postpones a due deposit to `until`. False when another replica has claimed it. */
  claimDeposit(id: number, now: Date, until: Date): Promise<boolean>;
}

/**
 * Two stages, which MongoDB combines into one condition: an index has the fields of the first, so that every planner uses it (ADR 101).
 * Open disputes have an index of their own.
 */
const disputesOf = (userId: number | undefined): { $match: object }[] => [
  ...(userId === undefined ? [] : [{ $match: { user_id: userId, type: 'deposit', is_done: false } }]),
  { $match: { 'gateway.state': 'mismatch' } },
];

/** Deposits whose payment differs from what was asked for, until an operator resolves them. */
const createDisputes = ({
  payments,
}: Models): Pick<Deposits, 'disputeDeposit' | 'resolveDispute' | 'openDisputes'> => ({
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
    closeDeposit: async (id, state) => {
      const closed = await payments.updateOne(
        {
          _id: id,
          type: 'deposit',
          is_done: false,
          'gateway.state': trusted({ $nin: [state, ...OPERATOR_STATES] }),
        },
        { $set: { 'gateway.state': state, 'gateway.check_at': null }, $inc: { version: 1 } },
      );
      return closed.modifiedCount === 1;
    },
    countOpenDeposits: async (userId, since, limit, session) => {
      const open = await payments
        .find({ user_id: userId, 'gateway.state': 'open', created_at: trusted({ $gt: since }) }, { _id: 1 })
        .session(session ?? null)
        .limit(limit)
        .lean();
      return open.length;
    },
    // Only open deposits have a `check_at`.
    dueDeposits: createDueRowQueue(payments, { due: 'gateway.check_at', user: 'user_id' }, fromDocument),
    claimDeposit: async (id, now, until) => {
      const claimed = await payments.updateOne(
        { _id: id, is_done: false, 'gateway.check_at': trusted({ $lte: now }) },
        { $set: { 'gateway.check_at': until } },
      );
      return claimed.modifiedCount === 1;
    },
  };
};
