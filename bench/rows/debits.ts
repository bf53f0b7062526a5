/**
 * Debits a thousand wallets over gRPC. The first comparison uses bare MongoDB transactions: two inserts and one conditional
 * update without any code of ours. The second uses medici, a library for double-entry books, in the same database.
 */
import { randomUUID } from 'node:crypto';
import { createGrpcClient } from '@fitness/shared/grpc/client.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { systemClock } from '@fitness/shared/kernel/clock.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { connectMongo } from '@fitness/shared/mongo/connect.ts';
import { openCallerSigner } from '@fitness/shared/process-identity/open-caller-signer.ts';
import { connectStack } from '../../scripts/lib/stack-client.mjs';
import { SECONDS } from '../config.ts';
import { measure, timed } from '../figures.ts';
import { CONNECTIONS, type Run } from '../load.ts';
import { requirePeer } from '../peers/packages.ts';
import type { Work } from '../race.ts';

const WALLETS = 1_000;
const GOAL = 0.6;
/** More than the total of all debits in a run. */
const BALANCE = 1_000_000_000;
const FIRST_USER_ID = 700_000_000;
const DEBITS = 200 * SECONDS;

const run = async (debit: (walletId: number) => Promise<unknown>): Promise<Run> => {
  const took = await timed(() => measure(DEBITS, CONNECTIONS, (index) => debit(index % WALLETS)));
  return { count: DEBITS, seconds: took / 1_000 };
};

const openWallet = () => {
  const { parts } = connectStack().describe();
  const log = createLog({ service: 'bench', level: 'warn' });
  const client = createGrpcClient({
    definition: grpcDefinitions.wallet(),
    address: `127.0.0.1:${parts.wallet?.grpcPort}`,
    target: 'wallet',
    // Calls are signed in the name of content, which sells from wallets.
    signer: openCallerSigner('content', parts.content?.environment as never, log),
    deadlineMs: 30_000,
  });
  const book = (walletId: number, type: 'income' | 'purchase', amount: number) =>
    client.call('Book', {
      idempotency_key: randomUUID(),
      bookings: [{ user_id: FIRST_USER_ID + walletId, type, amount }],
    });
  return { book, close: () => client.close() };
};

/** The minimum that a debit needs, with the same driver as the service but without a model. */
const openTransactions = async (uri: string) => {
  const name = 'bench_wallet_limit';
  const connection = await connectMongo({ uri, database: name, maxPoolSize: 50 });
  const mongo = connection.getClient();
  const database = mongo.db(name);
  const wallets = database.collection<{ _id: number; balance: number; version: number }>('wallets');
  const entries = database.collection<{ _id: string }>('entries');
  const payments = database.collection<{ _id: number }>('payments');
  let lastPaymentId = 0;
  const debit = async (walletId: number): Promise<void> => {
    lastPaymentId += 1;
    const id = lastPaymentId;
    const key = `booking:${randomUUID()}`;
    const at = systemClock.now();
    const rows = [
      { account: `wallet:${walletId}`, amount: -1 },
      { account: 'revenue', amount: 1 },
    ];
    await mongo.withSession((session) =>
      session.withTransaction(
        async () => {
          const entry = { _id: key, kind: 'booking', rows, payment_ids: [id], at };
          await entries.insertOne(entry, { session });
          const payment = { _id: id, user_id: walletId, type: 'purchase', amount: 1, is_done: true, at };
          await payments.insertOne(payment, { session });
          const moved = await wallets.updateOne(
            { _id: walletId, balance: { $gte: 1 } },
            { $inc: { balance: -1, version: 1 } },
            { session },
          );
          if (moved.matchedCount !== 1) throw new Error('the wallet has too little');
        },
        { readConcern: { level: 'snapshot' }, writeConcern: { w: 'majority' } },
      ),
    );
  };
  await database.dropDatabase();
  await wallets.insertMany(
    Array.from({ length: WALLETS }, (_, index) => ({ _id: index, balance: BALANCE, version: 0 })),
  );
  return { debit, close: () => connection.close() };
};

interface Entry {
  credit(account: string, amount: number): Entry;
  debit(account: string, amount: number): Entry;
  commit(options: object): Promise<unknown>;
}

interface Medici {
  Book: new (name: string) => { entry(memo: string): Entry };
  initModels(): Promise<void>;
  mongoTransaction(work: (session: object) => Promise<void>): Promise<void>;
}

interface Mongoose {
  connect(uri: string, options: object): Promise<unknown>;
  disconnect(): Promise<void>;
}

/** Medici stores no balance that a debit could exceed. It computes a balance from the entries on request. */
const openMedici = async (uri: string) => {
  const mongoose = requirePeer<Mongoose>('mongoose');
  const medici = requirePeer<Medici>('medici');
  await mongoose.connect(uri, { dbName: 'bench_medici', maxPoolSize: 50, socketTimeoutMS: 60_000 });
  await medici.initModels();
  const debit = (walletId: number) =>
    medici.mongoTransaction(async (session) => {
      const book = new medici.Book('Fitness');
      await book.entry('purchase').debit(`Wallet:${walletId}`, 1).credit('Revenue', 1).commit({ session });
    });
  return { debit, close: () => mongoose.disconnect() };
};

export interface Debits {
  works: Work[];
  close(): Promise<void>;
}

/** `withMedici`: whether medici is installed. */
export const debits = async (withMedici: boolean): Promise<Debits> => {
  const { MONGODB_URI } = connectStack().describe().servers;
  const wallet = openWallet();
  const transactions = await openTransactions(MONGODB_URI);
  const medici = withMedici ? await openMedici(MONGODB_URI) : undefined;
  await measure(WALLETS, CONNECTIONS, (index) => wallet.book(index, 'income', BALANCE));
  const ours = () => run((walletId) => wallet.book(walletId, 'purchase', 1));
  const bare = { name: 'MongoDB transactions alone', run: () => run(transactions.debit) };
  const works: Work[] = [{ name: 'wallet debit', run: ours, peer: bare, goals: { rate: GOAL } }];
  if (medici !== undefined)
    works.push({ name: 'wallet debit', run: ours, peer: { name: 'medici', run: () => run(medici.debit) } });
  return {
    works,
    close: async () => {
      wallet.close();
      await transactions.close();
      await medici?.close();
    },
  };
};
