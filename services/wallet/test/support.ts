/** A running wallet with stand-ins for identity and store-billing, and the sandbox as the bank gateway. */

import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { showUsers, wholeUser } from '@fitness/contracts/testing/users.ts';
import type { EventDefinition, EventInput } from '@fitness/proto/events/define-event.ts';
import { accountDeleted } from '@fitness/proto/events/identity.ts';
import type { BookRequest } from '@fitness/proto/gen/fitness/wallet/v1/BookRequest.ts';
import type { WalletDefinition } from '@fitness/proto/gen/fitness/wallet/v1/Wallet.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import type { GrpcServer } from '@fitness/shared/grpc/server.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { type Clock, formatTimestamp, systemClock } from '@fitness/shared/kernel/clock.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { MEMBER_PERMISSIONS } from '@fitness/shared/kernel/permissions.ts';
import { type Connection, connectMongo } from '@fitness/shared/mongo/connect.ts';
import { createSequences } from '@fitness/shared/mongo/sequence.ts';
import { createCleanup } from '@fitness/shared/runtime/lifecycle.ts';
import type { EventTap } from '@fitness/shared/testing/events.ts';
import { fillLike } from '@fitness/shared/testing/fill.ts';
import {
  type Answer,
  apiClient,
  caller,
  dropDatabase,
  eventually,
  type Send,
  standIn,
  standInService,
  testClient,
  testConfig,
} from '@fitness/shared/testing/harness.ts';
import { openServiceHarness } from '@fitness/shared/testing/service-harness.ts';
import { startSandbox } from '../../../sandbox/src/service.ts';
import { type AuditWallets, createAuditWallets } from '../src/app/audit-wallets.ts';
import { readConfig, sealsDatabase, type WalletConfig } from '../src/config.ts';
import { depositRows } from '../src/domain/booking.ts';
import { createEntry } from '../src/domain/ledger.ts';
import { newPayment } from '../src/domain/payment.ts';
import { type RunningWallet, startWallet } from '../src/service.ts';
import { createSeals } from '../src/store/seals.ts';
import { createStore, type Store } from '../src/store/store.ts';

const log = createLog({ service: 'wallet test', level: 'silent' });

interface Person {
  id: number;
  bankAccount: string | null;
  registeredAt?: string;
}

export interface Harness {
  config: WalletConfig;
  wallet: RunningWallet;
  send: Send;
  grpc: GrpcClient<WalletDefinition>;
  connection: Connection;
  tap: EventTap;
  sandboxUrl: string;
  /** A new user that identity knows, without a bank account for `bankAccount: null`. */
  person(options?: { bankAccount?: string | null }): UserCaller;
  /** Changes the bank account in the profile of the user. */
  changeBankAccount(userId: number, bankAccount: string | null): void;
  /** Removes the user from identity. */
  erase(userId: number): void;
  /** Gives the id to another account. */
  registerAgain(userId: number, registeredAt: Date): void;
  /** Number of ShowUsers calls so far. */
  identityCalls(): number;
  setIdentityDown(down: boolean): void;
  /** Books the income of a sale to a wealthy buyer; resolves with the payment id. */
  give(userId: number, amount: number): Promise<number>;
  /** Id of the wealthy buyer. */
  buyer(): Promise<number>;
  /** Books an old deposit; resolves with the payment id. */
  fund(userId: number, amount: number): Promise<number>;
  book(request: BookRequest): ReturnType<GrpcClient<WalletDefinition>['call']>;
  balanceOf(userId: number): Promise<number>;
  publish<Definition extends EventDefinition>(
    definition: Definition,
    data: EventInput<Definition>,
    options?: { id?: string },
  ): Promise<string>;
  /** Seals the booked entries and audits. */
  audit: AuditWallets;
  /** Audits without sealing. */
  inspect: AuditWallets;
  /** Connection to the database of the seals. */
  sealConnection: Connection;
  /** Another instance of the service on the same database. */
  replica(changes?: Partial<WalletConfig>, clock?: Clock): Promise<RunningWallet>;
  close(): Promise<void>;
}

export const OPERATOR = caller(900_001, [
  ...MEMBER_PERMISSIONS,
  'users.view_all',
  'payments.view_all',
  'payments.settle_withdrawals',
  'payments.resolve_disputes',
]);

/** Another operator with the same permissions. */
export const SECOND_OPERATOR = { ...OPERATOR, userId: 900_002 };

/** A stand-in for identity. `state.down` makes its calls fail. */
const startIdentity = async (people: Map<number, Person>) => {
  const state = { calls: 0, down: false };
  const show = showUsers((id) => {
    const person = people.get(id);
    if (person === undefined) return undefined;
    const { bankAccount, registeredAt = '2020-01-01 00:00:00' } = person;
    return wholeUser(id, { bank_account_number: bankAccount, created_at: registeredAt });
  });
  const server = await standIn(
    standInService(grpcDefinitions.identity(), {
      ShowUsers: (request, context) => {
        state.calls += 1;
        if (state.down) throw new Error('down');
        return show(request, context);
      },
    }),
  );
  return { server, state };
};

const startStoreBilling = (): Promise<GrpcServer> =>
  standIn(
    standInService(grpcDefinitions.storeBilling(), {
      GetPrices: async () => ({ premium_plus: 1_999_000, boost_basic: 99_000, boost_pro: 190_000 }),
    }),
  );

const baseConfig = (): WalletConfig => {
  const base = testConfig('wallet');
  const { PRIVATE_KEY_DIRECTORY, PUBLIC_KEYS_DIRECTORY } = base;
  return {
    ...readConfig({ PRIVATE_KEY_DIRECTORY, PUBLIC_KEYS_DIRECTORY, ZIBAL_MERCHANT: 'zibal' }),
    ...base,
    LOG_LEVEL: base.LOG_LEVEL as WalletConfig['LOG_LEVEL'],
    DEPOSIT_SWEEP_SECONDS: 3_600,
    JOURNAL_DIRECTORY: `${tmpdir()}/journal-${randomUUID()}`,
  };
};

/** Books in the name of the process that may: one booking for store-billing, several for content. */
const bookingClient = (address: string): GrpcClient<WalletDefinition> => {
  const [content, storeBilling] = (['content', 'store-billing'] as const).map((from) =>
    testClient('wallet', grpcDefinitions.wallet(), address, { deadlineMs: 20_000, from }),
  ) as [GrpcClient<WalletDefinition>, GrpcClient<WalletDefinition>];
  return {
    call: (method, request, ...options) => {
      const { bookings = [] } = request as BookRequest;
      const client = method === 'Book' && bookings.length === 1 ? storeBilling : content;
      return client.call(method, request, ...options);
    },
    close: () => {
      content.close();
      storeBilling.close();
    },
  };
};

/** Pays for what `give` books. */
const BUYER = 900_009;
const BUYER_BALANCE = 1_000_000_000_000;

const createGifts = (
  store: Store,
  grpc: GrpcClient<WalletDefinition>,
): Pick<Harness, 'give' | 'buyer' | 'fund'> => {
  const fund: Harness['fund'] = async (userId, amount) => {
    const id = await store.payments.nextId();
    const meta = { amount, gateway_fee: 0, payable_amount: amount };
    const payment = newPayment({
      ...{ id, userId, type: 'deposit', amount, meta, isDone: true },
      createdAt: new Date('2020-01-01'),
    });
    const rows = depositRows(userId, meta);
    const entry = createEntry({ key: `deposit:${id}`, kind: 'deposit', rows, paymentIds: [id] });
    await store.transaction((session) => store.post(session, entry, [payment]));
    return id;
  };
  let funded: Promise<number> | undefined;
  const buyer = async (): Promise<number> => {
    funded ??= fund(BUYER, BUYER_BALANCE);
    await funded;
    return BUYER;
  };
  const give: Harness['give'] = async (userId, amount) => {
    const bookings = [
      { user_id: await buyer(), type: 'purchase', amount },
      { user_id: userId, type: 'income', amount },
    ];
    const { payment_ids: ids } = await grpc.call('Book', { idempotency_key: randomUUID(), bookings });
    return ids[1] ?? 0;
  };
  return { give, buyer, fund };
};

const registrar = (people: Map<number, Person>): Harness['person'] => {
  let lastId = 100;
  return ({ bankAccount = 'IR062960000000100324200001' } = {}) => {
    lastId += 1;
    people.set(lastId, { id: lastId, bankAccount });
    return caller(lastId);
  };
};

export const startHarness = async (
  changes: Partial<WalletConfig> = {},
  options: { clock?: Clock } = {},
): Promise<Harness> => {
  const people = new Map<number, Person>(
    [OPERATOR, SECOND_OPERATOR].map(({ userId }) => [userId, { id: userId, bankAccount: null }]),
  );
  const cleanup = createCleanup();
  const sandbox = await startSandbox({ port: 0 });
  cleanup.defer('sandbox', () => sandbox.close());
  const identity = await startIdentity(people);
  cleanup.defer('identity', () => identity.server.close());
  const storeBilling = await startStoreBilling();
  cleanup.defer('store-billing', () => storeBilling.close());
  const config: WalletConfig = {
    ...baseConfig(),
    AMQP_TOPOLOGY: 'provisioned',
    ZIBAL_BASE_URL: `${sandbox.url}/zibal`,
    IDENTITY_GRPC_ADDRESS: identity.server.address,
    STORE_BILLING_GRPC_ADDRESS: storeBilling.address,
    ...changes,
  };
  const personOf = registrar(people);
  cleanup.defer('journals', () => rm(config.JOURNAL_DIRECTORY, { recursive: true, force: true }));
  const { connection, tap, publish } = await openServiceHarness('wallet', config, cleanup, 'wallet.#');
  const replica: Harness['replica'] = async (other = {}, clock = options.clock) => {
    const started = await startWallet({ ...config, ...other }, clock === undefined ? {} : { clock });
    cleanup.defer('replica', () => started.close());
    return started;
  };
  const seals = sealsDatabase(config);
  cleanup.defer('database of the seals', () =>
    dropDatabase({ MONGODB_URI: seals.uri, MONGODB_DATABASE: seals.database }),
  );
  const sealConnection = await connectMongo({ ...seals, log });
  cleanup.defer('seals', () => sealConnection.close());
  const wallet = await replica();
  const grpc = bookingClient(wallet.grpcAddress);
  cleanup.defer('client', () => grpc.close());
  const book: Harness['book'] = (request) => grpc.call('Book', request);
  const store = createStore(connection, createSequences(connection), systemClock);
  const audit = createAuditWallets({ store, seals: createSeals(sealConnection) });
  return {
    config,
    wallet,
    send: apiClient('wallet', wallet.url),
    grpc,
    connection,
    tap,
    sandboxUrl: sandbox.url,
    person: personOf,
    changeBankAccount: (userId, bankAccount) => void people.set(userId, { id: userId, bankAccount }),
    erase: (userId) => void people.delete(userId),
    registerAgain: (userId, registeredAt) =>
      void people.set(userId, {
        id: userId,
        bankAccount: null,
        registeredAt: formatTimestamp(registeredAt),
      }),
    identityCalls: () => identity.state.calls,
    setIdentityDown: (down) => {
      identity.state.down = down;
    },
    ...createGifts(store, grpc),
    book,
    balanceOf: (userId) => store.wallets.balance(userId),
    publish: (definition, data, event) => publish(definition, { subject: 1, data, ...event }),
    audit: async (noted) => {
      await wallet.sealLedger();
      return audit(noted);
    },
    inspect: audit,
    sealConnection,
    replica,
    close: () => cleanup.close(),
  };
};

/** The payer pays or cancels at the bank. Resolves with the path of the callback, below /api/v1. */
export const atTheBank = async (
  harness: Harness,
  paymentUrl: string,
  click: 'pay' | 'cancel',
): Promise<string> => {
  const trackId = paymentUrl.split('/').at(-1);
  const answer = await fetch(`${harness.sandboxUrl}/_sandbox/zibal/${trackId}/${click}`, {
    method: 'POST',
    redirect: 'manual',
  });
  const location = new URL(answer.headers.get('location') ?? '');
  return `${location.pathname.replace('/api/v1', '')}${location.search}`;
};

export const setZibalMode = async (harness: Harness, mode: 'ok' | 'unreachable'): Promise<void> => {
  await fetch(`${harness.sandboxUrl}/_sandbox/zibal/mode`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ mode }),
  });
};

/** Publishes the erasure of the account as identity does. Resolves when the wallet has handled it. */
export const eraseAccount = async (
  harness: Harness,
  userId: number,
  { isRepeated = false, ...waiting }: Parameters<typeof eventually>[1] & { isRepeated?: boolean } = {},
): Promise<void> => {
  const eventId = await harness.publish(accountDeleted, {
    user_id: userId,
    deleted_at: '2026-01-15 10:00:00',
    ...(isRepeated && { is_repeated: true }),
  });
  await eventually(
    async () => (await harness.connection.collection('inbox').countDocuments({ eventId })) === 1,
    waiting,
  );
};

/** Inserts payments of every kind with personal data, which contains `mark`. The user must have one already. */
export const fillPayments = async (
  { connection }: Pick<Harness, 'connection'>,
  userId: number,
  count: number,
  mark: string,
): Promise<void> => {
  const unpaid = { amount: 1, gateway_fee: 0, payable_amount: 1 };
  const reported = { amount_rial: 1, order_id: null, ref_number: null, card_number: mark, paid_at: null };
  const atGateway = (n: number, state: string, resolution: object | null) => ({
    ...{
      track_id: `filled ${userId} ${n}`,
      order_id: String(n),
      state,
      check_at: null,
      reported,
      resolution,
    },
  });
  const resolution = { outcome: 'returned', note: mark, resolved_by: 1, resolved_at: new Date() };
  const kinds: ((n: number) => Record<string, unknown>)[] = [
    () => ({ type: 'income', is_done: true }),
    () => ({ type: 'deposit', is_done: true, meta: { ...unpaid, card_number: mark } }),
    () => ({ type: 'withdrawal', is_done: true, meta: { bank_account_number: mark, reference: mark } }),
    (n) => ({ type: 'deposit', is_done: false, meta: unpaid, gateway: atGateway(n, 'mismatch', null) }),
    (n) => ({ type: 'deposit', is_done: false, meta: unpaid, gateway: atGateway(n, 'returned', resolution) }),
  ];
  const first = 1_000_000 * userId;
  await fillLike(
    connection,
    'payments',
    (n) => ({
      _id: first + n,
      description: mark,
      meta: null,
      gateway: null,
      ...kinds[n % kinds.length]?.(n),
    }),
    { user_id: userId },
    count,
  );
};

/** Repeats a request until its response is not 503: concurrent writes can last until the transaction deadline. */
export const decided = (ask: () => Promise<Answer>): Promise<Answer> =>
  eventually(async () => {
    const answer = await ask();
    return answer.status !== 503 && answer;
  });

/** Runs `work` `count` times concurrently. */
export const together = <T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)));
