/** Every query of the wallet uses an index, in its order, among 20,000 documents per collection. */

import { PAYMENT_TYPES } from '@fitness/contracts/payment-types.ts';
import { MINUTE_MS, systemClock } from '@fitness/shared/kernel/clock.ts';
import { nextSeal } from '@fitness/shared/kernel/seal.ts';
import { ensureIndexes } from '@fitness/shared/mongo/indexes.ts';
import { createSequences } from '@fitness/shared/mongo/sequence.ts';
import { type CommandWatch, watchCommands } from '@fitness/shared/testing/commands.ts';
import { FILLED, fillLike } from '@fitness/shared/testing/fill.ts';
import { dropDatabase, testConfig } from '@fitness/shared/testing/harness.ts';
import { exceptOnPrebuilt } from '@fitness/shared/testing/query-plans.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import mongoose, { type Connection } from 'mongoose';
import { createEntry } from '../src/domain/ledger.ts';
import { newPayment } from '../src/domain/payment.ts';
import { createSeals } from '../src/store/seals.ts';
import { createStore, type Store } from '../src/store/store.ts';
import { SHARDS } from './shards.ts';

const config = testConfig('wallet');
const at = new Date('2026-01-15T10:00:00Z');
const after = (minutes: number): Date => new Date(at.getTime() + minutes * MINUTE_MS);
const FIRST_PAGE = { mode: 'page', page: 1, perPage: 30, skip: 0 } as const;
const LATER = { mode: 'cursor', perPage: 30, after: [FILLED / 2] } as const;
const USERS = 4_000;

const EXCEPTIONS = [
  ...exceptOnPrebuilt(
    'it does not scan along `_id`; the audit reads everything, and a process reads the newest seal once',
    [
      'COLLSCAN: find ledger_entries {"_id":{"$gt":"?"}} sort {"_id":1} limit',
      'COLLSCAN: find payments {"_id":{"$gt":"?"}} sort {"_id":1} limit',
      'COLLSCAN: find wallets {"_id":{"$gt":"?"}} sort {"_id":1} limit',
      'COLLSCAN: find ledger_seals {"_id":{"$gt":"?"}} sort {"_id":1} limit',
      'COLLSCAN: find ledger_seals {} sort {"_id":-1} limit',
    ],
  ),
  ...exceptOnPrebuilt('it uses an index only if all conditions are in it; the upgrade runs once', [
    'COLLSCAN: update payments {"type":"?","is_done":"?","is_rejected":"?","created_at":{"$gt":"?"}',
  ]),
  ...exceptOnPrebuilt('it sorts the result of an index even in the order of the index; these are few', [
    'SORT: find payments {"gateway.state":"?"} sort {"_id":-1} limit',
    'SORT: find payments {"gateway.state":"?","_id":{"$lt":"?"}} sort {"_id":-1} limit',
    'SORT: find payments {"user_id":{"$in":["?"]}} sort {"user_id":1,"_id":1}',
    'SORT: find payments {"user_id":"?"} sort {"_id":-1} limit',
  ]),
  ...exceptOnPrebuilt('it reads a whole list to sort or count it; the list of all users is for operators', [
    'a wide index scan: aggregate payments {"type":{"$in":["?"]}}',
  ]),
];

let connection: Connection;
let store: Store;
let watch: CommandWatch;

/** The documents that are copied belong to separate users. */
const ownerOf = (id: number): number => (id > FILLED ? id : 1 + (id % USERS));

const deposit = (id: number) =>
  newPayment({
    id,
    userId: ownerOf(id),
    type: 'deposit',
    amount: 1_000,
    isDone: false,
    createdAt: at,
    meta: { amount: 1_000, gateway_fee: 0, payable_amount: 1_000 },
    gateway: {
      trackId: String(id),
      orderId: `${id}-x`,
      state: 'open',
      checkAt: at,
      reported: null,
      resolution: null,
    },
  });

const entryOf = (id: number, name = 'booking', amount = 5) =>
  createEntry({
    key: `${name}:${id}`,
    kind: 'booking',
    rows: [
      { account: `wallet:${ownerOf(id)}`, amount },
      { account: 'revenue', amount: -amount },
    ],
    paymentIds: [id],
  });

const income = (id: number) =>
  newPayment({ id, userId: ownerOf(id), type: 'income', amount: 5, isDone: true, createdAt: at });

const described = (id: number) => ({ ...income(id), userId: ownerOf(FILLED + 1), description: 'text' });

const STATES = ['open', 'done', 'cancelled', 'expired'];

/** A third each of the withdrawals is open, paid and rejected; deposits have every state. */
const paymentChange = (n: number): Record<string, unknown> => {
  const type = PAYMENT_TYPES[n % PAYMENT_TYPES.length];
  const cycle = Math.floor(n / PAYMENT_TYPES.length);
  const isRejected = type === 'withdrawal' && cycle % 3 === 2;
  const state = cycle % 100 === 0 ? 'mismatch' : STATES[cycle % STATES.length];
  const isDone = { deposit: state === 'done', withdrawal: cycle % 3 === 1 }[String(type)] ?? true;
  return {
    _id: n,
    user_id: ownerOf(n),
    type,
    is_done: isDone,
    is_rejected: isRejected,
    rejected_at: isRejected ? after(n) : null,
    created_at: after(n),
    gateway: type !== 'deposit' ? null : gatewayOf(n, state),
  };
};

const gatewayOf = (n: number, state: string | undefined): Record<string, unknown> => ({
  track_id: `t${n}`,
  order_id: `${n}-x`,
  state,
  check_at: state === 'open' ? after(n) : null,
  reported: state === 'mismatch' ? { card_number: '6037' } : null,
  resolution: null,
});

/** Copies documents written by the store. */
const fill = async (): Promise<void> => {
  const seals = createSeals(connection);
  await store.transaction(async (session) => {
    await store.post(session, entryOf(FILLED + 1), [income(FILLED + 1), deposit(FILLED + 2)]);
  });
  const [entry] = await store.entries.unsealed(1);
  if (entry === undefined) throw new Error('nothing is booked');
  await seals.append({ ...nextSeal(undefined, [entry], at), number: FILLED + 1 });
  await fillLike(connection, 'payments', paymentChange);
  await fillLike(connection, 'wallets', (n) => ({ _id: n }));
  await fillLike(connection, 'ledger_entries', (n) => ({
    _id: `booking:${n}`,
    payment_ids: [n],
    seal: n % 1_000 === 0 ? null : Math.ceil(n / 500),
  }));
  await fillLike(connection, 'ledger_seals', (n) => ({ _id: n }));
};

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
  store = createStore(connection, createSequences(connection), systemClock);
  const seals = createSeals(connection);
  await ensureIndexes(connection);
  await seals.prepare();
  await fill();
  watch = watchCommands(config.MONGODB_DATABASE, { exceptions: EXCEPTIONS, shards: SHARDS });
});

afterAll(async () => {
  await connection.close();
  await dropDatabase(config);
});

const faultsOf = async (work: () => Promise<unknown>): Promise<string[]> => {
  const sent = await watch.during(work);
  expect(sent.length).toBeGreaterThan(0);
  return watch.faults(sent);
};

const payments = () => store.payments;
const inSession = (work: Parameters<Store['transaction']>[0]) => () => store.transaction(work);
const drain = async (rows: AsyncIterable<unknown>): Promise<number> => {
  let count = 0;
  for await (const _row of rows) count += 1;
  return count;
};
const resolution = { outcome: 'returned', note: 'text', resolvedBy: 1, resolvedAt: at } as const;
const receipt = { amountRial: 5, orderId: '1', refNumber: null, cardNumber: null, paidAt: null };

const cases: [string, () => Promise<unknown>][] = [
  ['a wallet is credited', inSession((session) => store.post(session, entryOf(FILLED + 1, 'again'), []))],
  ['a wallet is debited', inSession((session) => store.post(session, entryOf(FILLED + 1, 'back', -1), []))],
  [
    'a wallet that must not be erased is credited',
    inSession((session) => store.post(session, entryOf(FILLED + 1, 'described'), [described(FILLED + 3)])),
  ],
  ['a wallet is created', () => store.wallets.insertIfMissing(FILLED + 77)],
  ['balances', () => store.wallets.balances([1, 2, 3])],
  [
    'a wallet is marked as erased',
    inSession((session) => store.wallets.markErased(session, FILLED + 78, { at, isRepeated: true })),
  ],
  ['wallets for the audit', inSession((session) => store.wallets.after(1, 10, session))],
  ['owners for the audit', inSession((session) => store.wallets.owners([1, 2], session))],
  ['an entry by its key', () => store.entries.find('booking:1')],
  ['entries by key', () => store.entries.findMany(['booking:1', 'booking:2'])],
  ['entries without a seal', () => store.entries.unsealed(10)],
  ['the number of entries without a seal', () => store.entries.countUnsealed()],
  ['entries are sealed', inSession((session) => store.entries.markSealed(session, ['booking:1'], 1))],
  ['entries of a seal', inSession((session) => store.entries.ofSeal(1, session))],
  ['entries for the audit', inSession((session) => store.entries.after('booking:5', 10, session))],
  ['entries of payments', inSession((session) => store.entries.ofPayments([1, 2], session))],
  ['a payment', () => payments().find(1)],
  ['payments', () => payments().findMany([1, 2])],
  ['a deposit by its track id', () => payments().findByTrackId('5')],
  ['payments by hour', () => payments().hours('deposit', after(100))],
  ['open withdrawals', () => payments().countOpenWithdrawals(1)],
  [
    'a deposit is credited',
    inSession((session) =>
      payments().markDepositDone(session, 5, { meta: deposit(5).meta as never, description: null }),
    ),
  ],
  ['a deposit is closed', () => payments().closeDeposit(10, { state: 'cancelled', checkAt: at })],
  ['a deposit is disputed', inSession((session) => payments().disputeDeposit(session, 15, receipt))],
  [
    'a dispute is resolved',
    inSession((session) => payments().resolveDispute(session, 15, { resolution, credited: null })),
  ],
  ['the newest credits', inSession((session) => payments().newestCredits(session, 1))],
  ['payments are held', inSession((session) => payments().holdPayments(session, [income(25)]))],
  ['erased accounts with a balance', () => store.wallets.erasedWithBalance()],
  ['erased accounts', () => store.wallets.erased([1, 2])],
  ['a wallet is locked', inSession((session) => store.wallets.lockUnlessErased(session, 1))],
  ['disputed deposits by page', () => payments().openDisputes(FIRST_PAGE)],
  ['disputed deposits by cursor', () => payments().openDisputes(LATER)],
  ['disputed deposits of a user by page', () => payments().openDisputes(FIRST_PAGE, 1)],
  ['disputed deposits of a user by cursor', () => payments().openDisputes(LATER, 1)],
  ['an order is placed', inSession((session) => store.wallets.placeOrder(session, 1, { id: 1, at }))],
  ['an order is removed', () => store.wallets.removeOrder(1, 1)],
  ['closed deposits', inSession((session) => payments().countClosedDeposits([1, 2], session))],
  ['waiting cases', () => payments().waiting(at)],
  ['deposits that are due', () => payments().dueDeposits(at, 10)],
  ['closed deposits are verified again', () => payments().lookAgain(after(100), at)],
  ['a deposit is claimed', () => payments().claimDeposit(20, at, at)],
  [
    'a withdrawal is settled',
    inSession((session) =>
      payments().settleWithdrawal(session, 3, {
        rejectedAt: null,
        meta: null,
        settlement: { by: 1, at: new Date(), mark: null },
      }),
    ),
  ],
  ['a user is erased', inSession((session) => payments().erasePersonal(session, 1, 400))],
  ['payments for the audit', inSession((session) => payments().after(1, 10, session))],
  ['payments of users', inSession((session) => drain(payments().ofUsers([1, 2], session)))],
  ...[FIRST_PAGE, LATER].flatMap((request) =>
    (['ASC', 'DESC'] as const).flatMap((order) =>
      [
        {},
        { userId: 1 },
        { userId: 1, type: 'income' as const, isDone: true, rejected: false, from: after(10), to: after(99) },
        { type: 'income' as const },
        { type: 'withdrawal' as const, isDone: false, rejected: true },
        { isDone: false },
        { rejected: true },
        { from: after(100), to: after(FILLED - 100) },
        { from: after(10_000), to: after(10_500) },
      ].map((filter): [string, () => Promise<unknown>] => [
        `the history, ${request.mode}, ${order}, ${JSON.stringify(filter)}`,
        () => payments().page({ ...filter, order }, request),
      ]),
    ),
  ),
  ['the newest seal, at the start of a process', () => createSeals(connection).newest(0)],
  ['the newest seal', () => createSeals(connection).newest(FILLED - 3)],
  ['seals for the audit', () => createSeals(connection).after(0, 5)],
];

test.each(cases)('queries use an index: %s', async (_what, work) => {
  expect(await faultsOf(work)).toEqual([]);
});

test('every listed scatter is a command of these queries', () => {
  expect(watch.unusedScatters()).toEqual([]);
});
