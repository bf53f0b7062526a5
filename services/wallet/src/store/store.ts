/** The stores of the wallet, and the only way to change a balance. */
import type { Clock } from '@fitness/shared/kernel/clock.ts';
import type { ClientSession, Connection } from '@fitness/shared/mongo/connect.ts';
import type { Sequences } from '@fitness/shared/mongo/sequence.ts';
import { inTransaction, isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import { AlreadyBooked, type LedgerEntry, walletMoves } from '../domain/ledger.ts';
import type { Payment } from '../domain/payment.ts';
import { createBulkWrite } from './bulk-write.ts';
import { createEntries, type Entries } from './entries.ts';
import { registerModels } from './models.ts';
import { createPayments, type Payments } from './payments.ts';
import { createWallets, MissingWallet, type WalletMove, type Wallets } from './wallets.ts';

export type { PaymentFilter } from './payment-history.ts';

export interface Store {
  wallets: Wallets;
  payments: Payments;
  entries: Entries;
  /**
   * Changes the wallets by the rows of the entry, and inserts the entry and its payments, in one message. Nothing else changes a
   * balance, so a balance is always the sum of its rows. The wallets come first: a concurrent booking on the same wallet conflicts
   * with its first write, before it has done any work.
   *
   * Throws {@link AlreadyBooked} for a key that is already booked, `payments.insufficient_balance` and `payments.balance_limit`.
   * Throws `AccountErased` when an erased account has an income or a payment with a description, unless it is one of `erased`. Abort
   * the transaction after any of these.
   * A repeated key may fail because of the balance first. If the client chose the key, check then whether it is booked
   * (app/book.ts).
   */
  post(
    session: ClientSession,
    entry: LedgerEntry,
    payments?: readonly Payment[],
    erased?: ReadonlySet<number>,
  ): Promise<void>;
  /**
   * Runs `work` in one transaction. May run it several times, for example after it has created a missing wallet. Throws
   * `unavailable` when conflicts last until the transaction deadline.
   */
  transaction<T>(work: (session: ClientSession) => Promise<T>): Promise<T>;
}

/** More than the users of any booking, so more missing wallets are a bug. */
const MAX_MISSING_WALLETS = 200;

/**
 * Adds a move of 0 for users whose payments cancel out. A concurrent erasure of their account then conflicts with the insert
 * of their descriptions.
 */
const withUnmoved = (moves: readonly WalletMove[], live: ReadonlySet<number>): WalletMove[] => {
  const moved = new Set(moves.map(({ userId }) => userId));
  const unmoved = [...live].filter((userId) => !moved.has(userId));
  return [...moves, ...unmoved.map((userId) => ({ userId, amount: 0 }))].sort(
    (one, other) => one.userId - other.userId,
  );
};

export const createStore = (connection: Connection, sequences: Sequences, clock: Clock): Store => {
  const models = registerModels(connection);
  const wallets = createWallets(models);
  const entries = createEntries(models);
  const payments = createPayments(models, sequences);
  const bulkWrite = createBulkWrite(connection);
  return {
    wallets,
    entries,
    payments,
    post: async (session, entry, newPayments = [], erased = new Set()) => {
      const live = new Set(
        newPayments
          .filter(({ description, type }) => description !== null || type === 'income')
          .map(({ userId }) => userId)
          .filter((userId) => !erased.has(userId)),
      );
      const moves = withUnmoved(walletMoves(entry), live);
      const optionsOf = ({ userId }: WalletMove) => ({ mustBeLive: live.has(userId) });
      const refused = await bulkWrite(session, {
        updates: moves.map((move) => wallets.updateOf(move, optionsOf(move))),
        inserts: [entries.insertOf(entry, clock.now()), payments.insertOf(newPayments)],
      }).catch((error: unknown) => {
        throw isDuplicateKey(error) ? new AlreadyBooked(entry.key, { cause: error }) : error;
      });
      const move = refused === undefined ? undefined : moves[refused];
      if (move !== undefined) throw await wallets.refusalOf(session, move, optionsOf(move));
    },
    transaction: async (work) => {
      for (let created = 0; ; created += 1) {
        try {
          // The server rejects `bulkWrite` as the first command of a transaction with a read concern.
          return await inTransaction(connection, work, { readConcern: 'default' });
        } catch (error) {
          if (!(error instanceof MissingWallet) || created >= MAX_MISSING_WALLETS) throw error;
          await wallets.insertIfMissing(error.userId);
        }
      }
    },
  };
};
