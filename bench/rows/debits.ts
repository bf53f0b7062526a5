/**
 * Debits a thousand wallets over gRPC. They are compared with bare MongoDB transactions: two inserts and one conditional update
 * without any code of ours.
 */
import { randomUUID } from 'node:crypto';
import { systemClock } from '@fitness/shared/kernel/clock.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { SECONDS } from '../config.ts';
import { CONNECTIONS } from '../load.ts';
import { measure, runCalls, type Work } from '../measure.ts';
import { openDatabase, openPeerDatabase, openWallet, setBalance } from '../product.ts';

const WALLETS = 1_000;
const GOAL = 0.6;
/** More than the total of all debits in a run. */
const BALANCE = 1_000_000_000;
const FIRST_USER_ID = 700_000_000;
const DEBITS = 200 * SECONDS;

const runDebits = (debit: (walletId: number) => Promise<unknown>) => () =>
  runCalls(DEBITS, CONNECTIONS, (index) => debit(index % WALLETS));

/** The minimum that a debit needs, with the same driver as the service but without a model. */
const openTransactions = async () => {
  const connection = await openPeerDatabase('bench_wallet_limit');
  const wallets = connection.collection<{ _id: number; balance: number; version: number }>('wallets');
  const entries = connection.collection<{ _id: string }>('entries');
  const payments = connection.collection<{ _id: number }>('payments');
  await wallets.insertMany(
    Array.from({ length: WALLETS }, (_, index) => ({ _id: index, balance: BALANCE, version: 0 })),
  );
  let lastPaymentId = 0;
  return (walletId: number): Promise<void> => {
    lastPaymentId += 1;
    const id = lastPaymentId;
    const at = systemClock.now();
    const rows = [
      { account: `wallet:${walletId}`, amount: -1 },
      { account: 'revenue', amount: 1 },
    ];
    const book = async (session: ClientSession): Promise<void> => {
      const entry = { _id: `booking:${randomUUID()}`, kind: 'booking', rows, payment_ids: [id], at };
      await entries.insertOne(entry, { session });
      const payment = { _id: id, user_id: walletId, type: 'purchase', amount: 1, is_done: true, at };
      await payments.insertOne(payment, { session });
      const enough = { _id: walletId, balance: { $gte: 1 } };
      const moved = await wallets.updateOne(enough, { $inc: { balance: -1, version: 1 } }, { session });
      if (moved.matchedCount !== 1) throw new Error('the wallet has too little');
    };
    const options = { readConcern: { level: 'snapshot' }, writeConcern: { w: 'majority' } } as const;
    return connection
      .getClient()
      .withSession((session) => session.withTransaction(() => book(session as ClientSession), options));
  };
};

export const debits = async (): Promise<Work> => {
  const { debit } = openWallet();
  const database = await openDatabase('wallet');
  await measure(WALLETS, CONNECTIONS, (index) => setBalance(database, FIRST_USER_ID + index, BALANCE));
  await database.close();
  return {
    name: 'wallet debit',
    run: runDebits((walletId) => Promise.resolve(debit(FIRST_USER_ID + walletId, 1))),
    peer: { name: 'MongoDB transactions alone', run: runDebits(await openTransactions()) },
    goals: { rate: GOAL },
  };
};
