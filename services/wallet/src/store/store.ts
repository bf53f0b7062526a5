/** Everything that this service keeps, and the one way to change money. */
import type { Clock } from '@fitness/shared/clock.ts';
import type { ClientSession, Connection } from '@fitness/shared/mongo/connect.ts';
import type { Sequences } from '@fitness/shared/mongo/sequence.ts';
import { inTransaction, isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import { AlreadyBooked, type LedgerEntry, walletMoves } from '../domain/ledger.ts';
import type { Payment } from '../domain/payment.ts';
import { createEntries, type Entries } from './entries.ts';
import { registerModels } from './models.ts';
import { createPayments, type Payments } from './payments.ts';
import { createWallets, MissingWallet, type WalletMove, type Wallets } from './wallets.ts';
import { createWriteTogether } from './write-together.ts';

export type { PaymentFilter } from './payments.ts';

export interface WalletStore {
  wallets: Wallets;
  payments: Payments;
  entries: Entries;
  /**
   * Does to the wallets what the entry's rows say, and writes the entry and the payments that it makes, in one message:
   * no balance moves in any other way, so that the stored balance is the sum of its rows. The wallets go first: of two
   * bookings at once on one wallet the second is stopped by its first write, and starts again before it has done any
   * work. A repeated key may be met with an empty wallet; who books by a caller's key looks then whether it is booked.
   * Throws {@link AlreadyBooked} for a key that is taken, `ErasedWallet` for a payment with a description whose
   * account is erased, `payments.insufficient_balance` and `payments.balance_limit`; what it throws ends the
   * transaction.
   */
  post(session: ClientSession, entry: LedgerEntry, payments?: readonly Payment[]): Promise<void>;
  /**
   * Runs `work` in one transaction; a wallet that it misses is opened, and it starts again. Throws `unavailable` when
   * others were faster until the deadline of transactions.
   */
  transaction<T>(work: (session: ClientSession) => Promise<T>): Promise<T>;
}

/** A booking touches few users; more rounds than that mean that something else is wrong. */
const MAX_OPENINGS = 200;

/**
 * Whose payments cancel each other out moves nothing, but what is written about him must still not pass an erasure: his
 * wallet takes part with a move of nothing.
 */
const withUnmoved = (moves: readonly WalletMove[], described: ReadonlySet<number>): WalletMove[] => {
  const moved = new Set(moves.map(({ userId }) => userId));
  const unmoved = [...described].filter((userId) => !moved.has(userId));
  return [...moves, ...unmoved.map((userId) => ({ userId, amount: 0 }))].sort(
    (one, other) => one.userId - other.userId,
  );
};

export const createStore = (options: {
  connection: Connection;
  sequences: Sequences;
  clock: Clock;
}): WalletStore => {
  const { connection, clock } = options;
  const models = registerModels(connection);
  const wallets = createWallets(models);
  const entries = createEntries(models);
  const payments = createPayments(models, options.sequences);
  const writeTogether = createWriteTogether(connection);
  return {
    wallets,
    entries,
    payments,
    post: async (session, entry, made = []) => {
      const described = new Set(
        made.filter(({ description }) => description !== null).map(({ userId }) => userId),
      );
      const moves = withUnmoved(walletMoves(entry), described);
      const optionsOf = ({ userId }: WalletMove) => ({ unerased: described.has(userId) });
      const refused = await writeTogether(session, {
        updates: moves.map((move) => wallets.updateOf(move, optionsOf(move))),
        inserts: [entries.insertOf(entry, clock.now()), payments.insertOf(made)],
      }).catch((error: unknown) => {
        throw isDuplicateKey(error) ? new AlreadyBooked(entry.key, { cause: error }) : error;
      });
      const move = refused === undefined ? undefined : moves[refused];
      if (move !== undefined) throw await wallets.refusalOf(session, move, optionsOf(move));
    },
    transaction: async (work) => {
      for (let opened = 0; ; opened += 1) {
        try {
          return await inTransaction(connection, work, { readConcern: 'default' });
        } catch (error) {
          if (!(error instanceof MissingWallet) || opened >= MAX_OPENINGS) throw error;
          await wallets.open(error.userId);
        }
      }
    },
  };
};
