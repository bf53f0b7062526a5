/** One document per user, guarded by updates that carry their own condition. */
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import { balanceFull, insufficientBalance } from '../domain/balance.ts';
import { ErasedWallet } from '../domain/ledger.ts';
import { exact } from '../domain/money.ts';
import type { Models, WalletDocument } from './models.ts';
import type { Update } from './write-together.ts';

/** Adds `amount` (signed, whole Tooman) to the balance of a user. */
export interface WalletMove {
  userId: number;
  amount: number;
}

interface MoveOptions {
  /** Whether something personal is written beside it, which an erased account does not get any more. */
  unerased: boolean;
}

interface WalletState {
  userId: number;
  balance: number;
  version: number;
  erased: boolean;
}

/** Thrown inside a transaction that needs a wallet that is not there yet; `transaction` opens it and starts again. */
export class MissingWallet extends Error {
  override name = 'MissingWallet';
  readonly userId: number;

  constructor(userId: number) {
    super(`User ${userId} has no wallet yet`);
    this.userId = userId;
  }
}

export interface Wallets {
  /**
   * The update that makes a move. It truly changes the document, so that two bookings on one wallet conflict instead of
   * passing each other, and fits none whose balance would fall below zero or no longer be exact; with `unerased`, none
   * of an erased account either.
   */
  updateOf(move: WalletMove, options: MoveOptions): Update;
  /**
   * Why a move's update fitted no wallet: {@link MissingWallet}, {@link ErasedWallet}, `payments.insufficient_balance`
   * or `payments.balance_limit`.
   */
  refusalOf(session: ClientSession, move: WalletMove, options: MoveOptions): Promise<Error>;
  /**
   * Whether the account is not erased, and stays so until the transaction ends: the document is written, so of this and
   * the mark one comes first, and nothing personal is stored behind an erasure.
   */
  pin(session: ClientSession, userId: number): Promise<boolean>;
  /** Undefined for a user without a wallet. */
  find(session: ClientSession, userId: number): Promise<WalletState | undefined>;
  /** Makes the wallet of a user, if it is not there. */
  open(userId: number): Promise<void>;
  /** Spendable balances by user id; a user without a wallet has 0. */
  balances(userIds: readonly number[], session?: ClientSession): Promise<Map<number, number>>;
  /** Marks the wallet of an erased account. */
  markErased(session: ClientSession, userId: number, at: Date): Promise<void>;
  /** By user id, from the one after `userId` on; for the auditor. */
  after(userId: number, limit: number, session: ClientSession): Promise<WalletState[]>;
  /** Which of these users have a wallet. */
  owners(userIds: readonly number[], session: ClientSession): Promise<Set<number>>;
}

const toState = (found: WalletDocument): WalletState => ({
  userId: found._id,
  balance: found.balance,
  version: found.version,
  erased: found.erased_at !== null,
});

export const createWallets = ({ wallets }: Models): Wallets => {
  const find: Wallets['find'] = async (session, userId) => {
    const found = await wallets.findById(userId).session(session).lean<WalletDocument>();
    return found === null ? undefined : toState(found);
  };
  return {
    updateOf: ({ userId, amount }, { unerased }) => {
      exact(amount);
      // Both ends of what a double holds are part of the condition: a wallet cannot grow past it either.
      const balance = amount < 0 ? { $gte: -amount } : { $lte: Number.MAX_SAFE_INTEGER - amount };
      return {
        collection: wallets.collection,
        filter: { _id: userId, balance, ...(unerased ? { erased_at: null } : {}) },
        change: { $inc: { balance: amount, version: 1 } },
      };
    },
    refusalOf: async (session, { userId, amount }, { unerased }) => {
      const wallet = amount < 0 && !unerased ? undefined : await find(session, userId);
      if (unerased && wallet?.erased === true) return new ErasedWallet(userId);
      if (amount < 0) return insufficientBalance(userId);
      return wallet === undefined ? new MissingWallet(userId) : balanceFull(userId, amount);
    },
    pin: async (session, userId) => {
      const pinned = await wallets.updateOne(
        { _id: userId, erased_at: null },
        { $inc: { version: 1 } },
        { session },
      );
      if (pinned.matchedCount === 1) return true;
      if ((await find(session, userId)) === undefined) throw new MissingWallet(userId);
      return false;
    },
    find,
    open: async (userId) => {
      const fresh = { balance: 0, version: 0, erased_at: null };
      try {
        await wallets.updateOne({ _id: userId }, { $setOnInsert: fresh }, { upsert: true });
      } catch (error) {
        // Somebody else made it at the same moment.
        if (!isDuplicateKey(error)) throw error;
      }
    },
    balances: async (userIds, session) => {
      const unique = [...new Set(userIds)];
      const found = await wallets
        .find({ _id: trusted({ $in: unique }) }, { balance: 1 })
        .session(session ?? null)
        .lean();
      const known = new Map(found.map(({ _id, balance }) => [_id, balance]));
      return new Map(unique.map((userId) => [userId, known.get(userId) ?? 0]));
    },
    markErased: async (session, userId, at) => {
      const fresh = { balance: 0, version: 0 };
      await wallets.updateOne(
        { _id: userId },
        { $set: { erased_at: at }, $setOnInsert: fresh },
        { upsert: true, session },
      );
    },
    after: async (userId, limit, session) => {
      const found = await wallets
        .find({ _id: trusted({ $gt: userId }) }, null, { session })
        .sort({ _id: 1 })
        .limit(limit)
        .lean<WalletDocument[]>();
      return found.map(toState);
    },
    owners: async (userIds, session) => {
      const found = await wallets
        .find({ _id: trusted({ $in: [...userIds] }) }, { _id: 1 }, { session })
        .lean<WalletDocument[]>();
      return new Set(found.map(({ _id }) => _id));
    },
  };
};
