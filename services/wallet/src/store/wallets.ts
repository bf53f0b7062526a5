/** One document per user, changed by conditional updates. */
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { ignoreDuplicate } from '@fitness/shared/mongo/transaction.ts';
import { balanceFull, insufficientBalance } from '../domain/balance.ts';
import { AccountErased } from '../domain/ledger.ts';
import { exact } from '../domain/money.ts';
import { MAX_ORDERS, type PlacedOrder } from '../domain/order-limits.ts';
import type { Update } from './bulk-write.ts';
import { ERASED_WITH_BALANCE, type Models, type WalletDocument } from './models.ts';

/** Adds `amount` (signed, whole Tooman) to the balance of a user. */
export interface WalletMove {
  userId: number;
  amount: number;
}

interface MoveOptions {
  /** Whether the account must not have been erased, because the transaction credits it or stores its personal data. */
  mustBeLive: boolean;
}

interface WalletState {
  userId: number;
  balance: number;
  version: number;
  erased: boolean;
  /** Whether a restore has erased the account again. Its balance was spent or withdrawn before the first erasure. */
  isErasureRepeated: boolean;
}

/** Thrown inside a transaction that needs a wallet; `Store.transaction` creates the wallet and retries. */
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
   * The update for a move. It always changes the document, so two bookings on one wallet conflict. It matches no wallet whose
   * balance would fall below zero or exceed 2^53 - 1. With `mustBeLive`, it matches no wallet of an erased account.
   */
  updateOf(move: WalletMove, options: MoveOptions): Update;
  /**
   * Why the update for a move matched no wallet: {@link MissingWallet}, {@link AccountErased},
   * `payments.insufficient_balance` or `payments.balance_limit`.
   */
  refusalOf(session: ClientSession, move: WalletMove, options: MoveOptions): Promise<Error>;
  /**
   * False for an erased account. Otherwise writes the wallet: a concurrent erasure conflicts with the transaction, and no
   * personal data is stored after it.
   */
  lockUnlessErased(session: ClientSession, userId: number): Promise<boolean>;
  /**
   * Locks the wallet like {@link lockUnlessErased}, and adds an order. Returns the newest orders, one more than the limit of a day, or
   * undefined for an erased account.
   */
  placeOrder(session: ClientSession, userId: number, order: PlacedOrder): Promise<PlacedOrder[] | undefined>;
  /** Removes an order that the gateway refused, or that it never received. */
  removeOrder(userId: number, id: number): Promise<void>;
  /** Undefined for a user without a wallet. */
  find(session: ClientSession, userId: number): Promise<WalletState | undefined>;
  /** Creates the wallet of a user unless it exists. */
  insertIfMissing(userId: number): Promise<void>;
  /** The spendable balance; 0 without a wallet. */
  balance(userId: number): Promise<number>;
  /** Spendable balances by user id, in the order of the ids; 0 without a wallet. */
  balances(userIds: readonly number[]): Promise<Map<number, number>>;
  /** The erased accounts with a balance, ordered by user id. */
  erasedWithBalance(): Promise<{ userId: number; balance: number }[]>;
  /** Those of the users whose account is erased. */
  erased(userIds: readonly number[]): Promise<Set<number>>;
  /** Marks the wallet of an erased account. */
  markErased(
    session: ClientSession,
    userId: number,
    erasure: { at: Date; isRepeated: boolean },
  ): Promise<void>;
  /** The wallets of users above `userId`, ordered by user id; for the audit. */
  after(userId: number, limit: number, session: ClientSession): Promise<WalletState[]>;
  /** Those of the users who have a wallet. */
  owners(userIds: readonly number[], session: ClientSession): Promise<Set<number>>;
}

const fromDocument = (document: WalletDocument): WalletState => ({
  userId: document._id,
  balance: document.balance,
  version: document.version,
  erased: document.erased_at !== null,
  isErasureRepeated: document.is_erasure_repeated === true,
});

/** Reads of many wallets, for the audit and after a restore. */
const createAuditReads = (
  wallets: Models['wallets'],
): Pick<Wallets, 'erasedWithBalance' | 'erased' | 'after' | 'owners'> => ({
  erasedWithBalance: async () => {
    const { erased_at, balance } = ERASED_WITH_BALANCE;
    const documents = await wallets
      .find({ erased_at: trusted(erased_at), balance: trusted(balance) })
      .lean<WalletDocument[]>();
    return documents
      .map((document) => ({ userId: document._id, balance: document.balance }))
      .sort((one, other) => one.userId - other.userId);
  },
  erased: async (userIds) => {
    const documents = await wallets
      .find({ _id: trusted({ $in: [...userIds] }) }, { erased_at: 1 })
      .lean<WalletDocument[]>();
    return new Set(documents.filter(({ erased_at }) => erased_at !== null).map(({ _id }) => _id));
  },
  after: async (userId, limit, session) => {
    const documents = await wallets
      .find({ _id: trusted({ $gt: userId }) }, null, { session })
      .sort({ _id: 1 })
      .limit(limit)
      .lean<WalletDocument[]>();
    return documents.map(fromDocument);
  },
  owners: async (userIds, session) => {
    const documents = await wallets
      .find({ _id: trusted({ $in: [...userIds] }) }, { _id: 1 }, { session })
      .lean<WalletDocument[]>();
    return new Set(documents.map(({ _id }) => _id));
  },
});

export const createWallets = ({ wallets }: Models): Wallets => {
  const find: Wallets['find'] = async (session, userId) => {
    const document = await wallets.findById(userId).session(session).lean<WalletDocument>();
    return document === null ? undefined : fromDocument(document);
  };
  const assertExists = async (session: ClientSession, userId: number): Promise<void> => {
    if ((await find(session, userId)) === undefined) throw new MissingWallet(userId);
  };
  const balances: Wallets['balances'] = async (userIds) => {
    const unique = [...new Set(userIds)];
    const documents = await wallets.find({ _id: trusted({ $in: unique }) }, { balance: 1 }).lean();
    const stored = new Map(documents.map(({ _id, balance }) => [_id, balance]));
    return new Map(unique.map((userId) => [userId, stored.get(userId) ?? 0]));
  };
  return {
    updateOf: ({ userId, amount }, { mustBeLive }) => {
      exact(amount);
      const balance = amount < 0 ? { $gte: -amount } : { $lte: Number.MAX_SAFE_INTEGER - amount };
      return {
        collection: wallets.collection,
        filter: { _id: userId, balance, ...(mustBeLive ? { erased_at: null } : {}) },
        change: { $inc: { balance: amount, version: 1 } },
      };
    },
    refusalOf: async (session, { userId, amount }, { mustBeLive }) => {
      const wallet = amount < 0 && !mustBeLive ? undefined : await find(session, userId);
      if (mustBeLive && wallet?.erased === true) return new AccountErased(userId);
      if (amount < 0) return insufficientBalance(userId);
      return wallet === undefined ? new MissingWallet(userId) : balanceFull(userId, amount);
    },
    lockUnlessErased: async (session, userId) => {
      const locked = await wallets.updateOne(
        { _id: userId, erased_at: null },
        { $inc: { version: 1 } },
        { session },
      );
      if (locked.matchedCount === 0) await assertExists(session, userId);
      return locked.matchedCount === 1;
    },
    placeOrder: async (session, userId, order) => {
      const placed = await wallets
        .findOneAndUpdate(
          { _id: userId, erased_at: null },
          { $push: { orders: { $each: [order], $slice: -(MAX_ORDERS + 1) } }, $inc: { version: 1 } },
          { session, returnDocument: 'after' },
        )
        .lean<WalletDocument>();
      if (placed === null) await assertExists(session, userId);
      return placed?.orders;
    },
    removeOrder: async (userId, id) => {
      await wallets.updateOne({ _id: userId }, { $pull: { orders: { id } } });
    },
    find,
    insertIfMissing: async (userId) => {
      const fresh = { balance: 0, version: 0, erased_at: null };
      await wallets
        .updateOne({ _id: userId }, { $setOnInsert: fresh }, { upsert: true })
        .catch(ignoreDuplicate);
    },
    balance: async (userId) => (await balances([userId])).get(userId) ?? 0,
    balances,
    markErased: async (session, userId, { at, isRepeated }) => {
      const fresh = { balance: 0, version: 0 };
      await wallets.updateOne(
        { _id: userId },
        {
          $set: { erased_at: at, ...(isRepeated && { is_erasure_repeated: true }) },
          $setOnInsert: fresh,
        },
        { upsert: true, session },
      );
    },
    ...createAuditReads(wallets),
  };
};
