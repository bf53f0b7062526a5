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
import { PEER_PACKAGES, requirePeer, SECONDS } from '../config.ts';
import { measure, runCalls } from '../figures.ts';
import { CONNECTIONS } from '../load.ts';
import type { Work } from '../race.ts';

const WALLETS = 1_000;
const GOAL = 0.6;
/** More than the total of all debits in a run. */
const BALANCE = 1_000_000_000;
const FIRST_USER_ID = 700_000_000;
const DEBITS = 200 * SECONDS;

const runDebits = (debit: (walletId: number) => Promise<unknown>) => () =>
  runCalls(DEBITS, CONNECTIONS, (index) => debit(index % WALLETS));

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
  return (walletId: number, type: 'income' | 'purchase', amount: number) =>
    client.call('Book', {
      idempotency_key: randomUUID(),
      bookings: [{ user_id: FIRST_USER_ID + walletId, type, amount }],
    });
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
  return debit;
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
}

/** Medici stores no balance that a debit could exceed. It computes a balance from the entries on request. */
const openMedici = async (uri: string) => {
  const mongoose = requirePeer<Mongoose>('mongoose');
  const medici = requirePeer<Medici>('medici');
  await mongoose.connect(uri, { dbName: 'bench_medici', maxPoolSize: 50, socketTimeoutMS: 60_000 });
  await medici.initModels();
  return (walletId: number) =>
    medici.mongoTransaction(async (session) => {
      const book = new medici.Book('Fitness');
      await book.entry('purchase').debit(`Wallet:${walletId}`, 1).credit('Revenue', 1).commit({ session });
    });
};

/** Debits, compared with bare transactions. */
export const debits = async (): Promise<Work> => {
  const book = openWallet();
  const bare = await openTransactions(connectStack().describe().servers.MONGODB_URI);
  await measure(WALLETS, CONNECTIONS, (index) => book(index, 'income', BALANCE));
  return {
    name: 'wallet debit',
    run: runDebits((walletId) => book(walletId, 'purchase', 1)),
    peer: { name: 'MongoDB transactions alone', run: runDebits(bare) },
    goals: { rate: GOAL },
  };
};

/** The same work, compared with medici; none if it is not installed. */
export const besideMedici = async ({ name, run }: Work): Promise<Work[]> => {
  if (PEER_PACKAGES === undefined) return [];
  const debit = await openMedici(connectStack().describe().servers.MONGODB_URI);
  return [{ name, run, peer: { name: 'medici', run: runDebits(debit) } }];
};
