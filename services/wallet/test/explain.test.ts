/** Every query that the wallet sends is served by an index, and names none: asked of the database itself. */
import { systemClock } from '@fitness/shared/clock.ts';
import { syncIndexes } from '@fitness/shared/mongo/connect.ts';
import { createSequences } from '@fitness/shared/mongo/sequence.ts';
import { type CommandWatch, namesIndex, watchCommands } from '@fitness/shared/testing/commands.ts';
import { dropDatabase, testConfig } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import mongoose, { type Connection } from 'mongoose';
import { createEntry } from '../src/domain/ledger.ts';
import { newPayment } from '../src/domain/payment.ts';
import { createSeals } from '../src/store/seals.ts';
import { createStore, type WalletStore } from '../src/store/store.ts';

const config = testConfig('wallet');
const at = new Date('2026-01-15T10:00:00Z');
const FIRST_PAGE = { mode: 'page', page: 1, perPage: 30, skip: 0 } as const;
const LATER = { mode: 'cursor', perPage: 30, after: [20] } as const;

let connection: Connection;
let store: WalletStore;
let watch: CommandWatch;

const deposit = (id: number) =>
  newPayment({
    id,
    userId: 1 + (id % 4),
    type: 'deposit',
    amount: 1_000,
    isDone: false,
    createdAt: at,
    meta: { amount: 1_000, gateway_fee: 0, payable_amount: 1_000 },
    gateway: { trackId: String(id), orderId: `${id}-x`, state: 'open', checkAt: at, reported: null },
  });

const entryOf = (id: number) =>
  createEntry({
    key: `booking:${id}`,
    kind: 'booking',
    rows: [
      { account: `wallet:${1 + (id % 4)}`, amount: 5 },
      { account: 'revenue', amount: -5 },
    ],
    paymentIds: [id],
  });

beforeAll(async () => {
  mongoose.set('sanitizeFilter', true);
  connection = await mongoose
    .createConnection(config.MONGODB_URI, {
      dbName: config.MONGODB_DATABASE,
      monitorCommands: true,
      autoIndex: false,
      autoCreate: false,
    })
    .asPromise();
  store = createStore({ connection, sequences: createSequences(connection), clock: systemClock });
  const seals = createSeals(connection);
  await syncIndexes(connection);
  await seals.prepare();
  for (let id = 1; id <= 40; id += 1)
    await store.transaction(async (session) => {
      const income = newPayment({
        id,
        userId: 1 + (id % 4),
        type: id % 3 === 0 ? 'withdrawal' : 'income',
        amount: 5,
        isDone: id % 3 !== 0,
        createdAt: at,
      });
      await store.post(session, entryOf(id), [id % 5 === 0 ? deposit(id) : income]);
    });
  watch = watchCommands(config.MONGODB_DATABASE);
});

afterAll(async () => {
  await connection.close();
  await dropDatabase(config);
});

/** The commands of `work` that scan a collection, or name their index. */
const faults = async (by: CommandWatch, work: () => Promise<unknown>): Promise<string[]> => {
  const sent = await by.during(work);
  expect(sent.length).toBeGreaterThan(0);
  const named = sent
    .filter(namesIndex)
    .map(({ name, collection }) => `${name} ${collection}: names its index`);
  return [...named, ...(await by.scans(sent))];
};

const payments = () => store.payments;
const inSession = (work: Parameters<WalletStore['transaction']>[0]) => () => store.transaction(work);
const drain = async (rows: AsyncIterable<unknown>): Promise<number> => {
  let count = 0;
  for await (const _row of rows) count += 1;
  return count;
};
const receipt = { amountRial: 5, orderId: '1', refNumber: null, cardNumber: null, paidAt: null };

const cases: [string, () => Promise<unknown>][] = [
  ['a wallet is moved', inSession((session) => store.post(session, entryOf(41), []))],
  ['a wallet is opened', () => store.wallets.open(77)],
  ['balances', () => store.wallets.balances([1, 2, 3])],
  ['a wallet is marked as erased', inSession((session) => store.wallets.markErased(session, 78, at))],
  ['wallets for the auditor', inSession((session) => store.wallets.after(1, 10, session))],
  ['owners for the auditor', inSession((session) => store.wallets.owners([1, 2], session))],
  ['an entry by its key', () => store.entries.find('booking:1')],
  ['entries by key', () => store.entries.findMany(['booking:1', 'booking:2'])],
  ['entries without a seal', () => store.entries.unsealed(10)],
  ['their number', () => store.entries.countUnsealed()],
  ['entries are sealed', inSession((session) => store.entries.markSealed(session, ['booking:1'], 1))],
  ['entries of a seal', inSession((session) => store.entries.ofSeal(1, session))],
  ['entries for the auditor', inSession((session) => store.entries.after('', 10, session))],
  ['entries of payments', inSession((session) => store.entries.ofPayments([1, 2], session))],
  ['a payment', () => payments().find(1)],
  ['payments', () => payments().findMany([1, 2])],
  ['a deposit by its track id', () => payments().findByTrackId('5')],
  ['open withdrawals', () => payments().countOpenWithdrawals(1)],
  [
    'a deposit is credited',
    inSession((session) =>
      payments().markDepositDone(session, 5, { meta: deposit(5).meta as never, description: null }),
    ),
  ],
  ['a deposit is closed', () => payments().closeDeposit(10, 'cancelled')],
  ['a deposit is disputed', inSession((session) => payments().disputeDeposit(session, 15, receipt))],
  ['a wallet is held', inSession((session) => store.wallets.pin(session, 1))],
  ['disputed deposits by page', () => payments().disputed(FIRST_PAGE)],
  ['disputed deposits by cursor', () => payments().disputed(LATER)],
  ['deposits that are due', () => payments().dueDeposits(at, 10)],
  ['a deposit is claimed', () => payments().claimDeposit(20, at, at)],
  [
    'a withdrawal is settled',
    inSession((session) => payments().settleWithdrawal(session, 3, { paid: true })),
  ],
  ['a user is erased', inSession((session) => payments().erasePersonal(session, 1))],
  ['payments for the auditor', inSession((session) => payments().after(1, 10, session))],
  ['payments of users', inSession((session) => drain(payments().ofUsers([1, 2], session)))],
  ...[FIRST_PAGE, LATER].flatMap((request) =>
    (['ASC', 'DESC'] as const).flatMap((order) =>
      [
        {},
        { userId: 1 },
        { userId: 1, type: 'income' as const, isDone: true, rejected: false, from: at, to: at },
        { type: 'income' as const },
        { type: 'withdrawal' as const, isDone: false, rejected: true },
        { isDone: false },
        { rejected: true },
        { from: at, to: at },
      ].map((filter): [string, () => Promise<unknown>] => [
        `the history, ${request.mode}, ${order}, ${JSON.stringify(filter)}`,
        () => payments().page({ ...filter, order }, request),
      ]),
    ),
  ),
  ['the newest seal', () => createSeals(connection).last(3)],
  ['seals for the auditor', () => createSeals(connection).after(0, 5)],
];

test.each(cases)('%s', async (_what, work) => {
  expect(await faults(watch, work)).toEqual([]);
});

test('the explanation does find a scan, and a named index', async () => {
  const collection = connection.collection('payments');
  expect(await faults(watch, () => collection.find({ amount: 5 }).toArray())).toEqual([
    expect.stringContaining('COLLSCAN'),
  ]);
  expect(
    await faults(watch, () => collection.find({ user_id: 1 }).hint({ user_id: 1, _id: 1 }).toArray()),
  ).toEqual(['find payments: names its index']);
});
