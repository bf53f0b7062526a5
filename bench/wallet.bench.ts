/**
 * Debits of wallets over gRPC, on one wallet and on a thousand, and beside each the same over plain MongoDB
 * transactions with no code of ours around them: two inserts and one conditional update in `withTransaction`, the
 * physical limit of this machine and this database. Both sides take turns in one run, so that they share its weather.
 */

import { randomUUID } from 'node:crypto';
import { createGrpcClient } from '@fitness/shared/grpc/client.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { systemClock } from '@fitness/shared/kernel/clock.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { connectMongo } from '@fitness/shared/mongo/connect.ts';
import { openCallerSigner } from '@fitness/shared/runtime/open-caller-signer.ts';
import { connectStack } from '../scripts/lib/stack-client.mjs';
import { measure, ms, pause, quantile } from './figures.ts';

const AT_ONCE = 32;
const ROUNDS = 5;
const WALLETS = 1_000;
const DEBITS = { one: 100, thousand: 2_000 } as const;
const GOAL = 0.6;
/** More than all debits of a run take. */
const BALANCE = 1_000_000_000;
const FIRST_USER_ID = 700_000_000;

const description = connectStack().describe();
const part = description.parts.wallet;
const log = createLog({ service: 'bench', level: 'warn' });
/** In the name of content, which sells from wallets. */
const signer = openCallerSigner('content', description.parts.content?.environment as never, log);
const grpc = createGrpcClient({
  definition: grpcDefinitions.wallet(),
  address: `127.0.0.1:${part?.grpcPort}`,
  target: 'wallet',
  signer,
  deadlineMs: 30_000,
});
const connection = await connectMongo({
  uri: description.servers.MONGODB_URI,
  database: 'bench_wallet_limit',
  maxPoolSize: 50,
});
// The driver itself from here on: the same one that the service uses, without a model.
const mongo = connection.getClient();
const database = mongo.db('bench_wallet_limit');
const wallets = database.collection<{ _id: number; balance: number; version: number }>('wallets');
const entries = database.collection<{ _id: string }>('entries');
const payments = database.collection<{ _id: number }>('payments');

let nextPaymentId = 0;

/** What a debit cannot do without. */
const plainDebit = async (walletId: number): Promise<void> => {
  nextPaymentId += 1;
  const id = nextPaymentId;
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

const book = (userId: number, type: 'income' | 'purchase', amount: number) =>
  grpc.call('Book', { idempotency_key: randomUUID(), bookings: [{ user_id: userId, type, amount }] });

interface Contender {
  name: string;
  debit: (index: number) => Promise<unknown>;
  /** Debits a second, by round. */
  rates: number[];
  times: number[];
}

const contender = (name: string, debit: Contender['debit']): Contender => ({
  name,
  debit,
  rates: [],
  times: [],
});

const median = (values: readonly number[]): number => quantile(values, 0.5);

const race = async (
  title: string,
  debits: number,
  pair: readonly [Contender, Contender],
): Promise<number> => {
  for (const { debit } of pair) await measure(debits / 2, AT_ONCE, debit);
  for (let round = 0; round < ROUNDS; round += 1)
    for (const runner of pair) {
      // What the other has left behind (events on their way out) is not this one's.
      await pause(500);
      const startedAt = performance.now();
      runner.times.push(...(await measure(debits, AT_ONCE, runner.debit)));
      runner.rates.push(debits / ((performance.now() - startedAt) / 1_000));
    }
  console.log(`${title}, ${AT_ONCE} callers, ${ROUNDS} rounds of ${debits} debits each, in turns:`);
  for (const { name, rates, times } of pair)
    console.log(
      `  ${name.padEnd(34)} ${median(rates).toFixed(0).padStart(6)} debits/s (${Math.min(...rates).toFixed(0)} to ` +
        `${Math.max(...rates).toFixed(0)})   p50 ${ms(quantile(times, 0.5))}, p99 ${ms(quantile(times, 0.99))}`,
    );
  const ratio = median(pair[0].rates) / median(pair[1].rates);
  console.log(`  ratio ${ratio.toFixed(2)}`);
  return ratio;
};

await database.dropDatabase();
await wallets.insertMany(
  Array.from({ length: WALLETS }, (_, index) => ({ _id: index, balance: BALANCE, version: 0 })),
);
await measure(WALLETS, AT_ONCE, (index) => book(FIRST_USER_ID + index, 'income', BALANCE));

const thousand = await race('a thousand wallets', DEBITS.thousand, [
  contender('wallet over gRPC', (index) => book(FIRST_USER_ID + (index % WALLETS), 'purchase', 1)),
  contender('MongoDB transactions alone', (index) => plainDebit(index % WALLETS)),
]);
await race('one wallet', DEBITS.one, [
  contender('wallet over gRPC', () => book(FIRST_USER_ID, 'purchase', 1)),
  contender('MongoDB transactions alone', () => plainDebit(0)),
]);
console.log(`goal: ${GOAL} or more on a thousand wallets; measured ${thousand.toFixed(2)}`);

grpc.close();
await connection.close();
