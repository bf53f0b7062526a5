/**
 * Work that is bounded by a password check. Sign-ins are compared with argon2 alone. Phase 1 of delete-account, one
 * call at a time, is compared with one argon2 check plus the slowest of the account's five blockers.
 */
import { BLOCKERS } from '@fitness/contracts/blockers.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { hash, verify } from '@node-rs/argon2';
import { type Account, api, arm, deposit, expectStatus, PASSWORD, register } from '../../test/e2e/support.ts';
import { ROUNDS, SECONDS } from '../config.ts';
import { load } from '../load.ts';
import { measure, median, runCalls, type Work } from '../measure.ts';
import { grpcClient, product } from '../product.ts';

const LOGIN_GOAL = 0.85;
const DELETION_GOAL = 0.77;
const AT_ONCE = 8;
const BANK_ACCOUNT = 'IR820540102680020817909002';
/** Limits per account: further calls within a minute are refused. */
const [LOGINS_A_MINUTE, CODES_A_MINUTE] = [10, 5];
/** Calls in one run, enough for the code to be compiled after the warm-up, as in a long-running process. */
const DELETIONS = 50;

/** The same cost as identity's hashes. */
const digest = await hash(PASSWORD, { memoryCost: 19_456, timeCost: 2, parallelism: 1 });
const checkPassword = () => verify(digest, PASSWORD);

const accountsOf = async (count: number, create: () => Promise<Account>): Promise<Account[]> => {
  const accounts: Account[] = [];
  await measure(count, 4, async () => accounts.push(await create()));
  return accounts;
};

const signIns = async (runs: number): Promise<Work> => {
  await measure(AT_ONCE, AT_ONCE, checkPassword);
  const { count, seconds } = await runCalls(AT_ONCE * 10, AT_ONCE, checkPassword);
  /** An upper bound for the sign-ins of a run. */
  const most = Math.ceil((SECONDS * count) / seconds);
  /** Sign-ins of one account in a run, so that all runs could happen within a minute. */
  const each = Math.max(1, Math.floor(LOGINS_A_MINUTE / runs));
  // Twice as many, because another program may have slowed down the first measurement.
  const accounts = await accountsOf(2 * Math.ceil(most / each), register);
  return {
    name: 'sign-in',
    run: () =>
      load({
        origin: product.part('gateway').url,
        paths: accounts.map(() => '/api/v1/auth/login'),
        bodies: accounts.map(({ username }) => ({ login: username, password: PASSWORD })),
        connections: AT_ONCE,
      }),
    peer: { name: 'argon2 alone', run: () => runCalls(most, AT_ONCE, checkPassword) },
    goals: { rate: LOGIN_GOAL },
  };
};

/** An account with a gym, a balance, an open withdrawal, a subscription and an undelivered trainee. */
const blockedAccount = async (premiumPrice: number): Promise<Account> => {
  const [account, buyer] = [await register(), await register()];
  const create = async ({ token }: Account, path: string, body?: unknown) =>
    expectStatus(await api('POST', path, { token, body }), 201).body;
  const profile = { bank_account_number: BANK_ACCOUNT, current_password: PASSWORD };
  expectStatus(await api('PUT', '/auth/me', { token: account.token, body: profile }), 200);
  await create(account, '/gyms', { name: 'B', address: 'Here', location_lat: 35.7, location_lng: 51.4 });
  const plan = { title: 'Plan', description: 'Plan', price: 1_000, duration_days: 30 };
  const { data: service } = await create(account, '/training-services', plan);
  await deposit(buyer.token, 1_000);
  await create(buyer, `/training-services/${service.id}/purchase`);
  await deposit(account.token, premiumPrice + 20_000);
  await create(account, '/payments/buy-premium', { type: 'plus' });
  await create(account, '/payments/withdrawals', { amount: 5_000 });
  return account;
};

/** A call to the blocker that takes longest for these accounts. */
const slowestBlocker = async (accounts: readonly Account[]) => {
  const measured = [];
  for (const { code, owner } of BLOCKERS) {
    // Identity evaluates the blockers.
    const client = grpcClient(grpcDefinitions.blockers(), 'identity', owner);
    const ask = (index: number) => client.call('Evaluate', { user_id: accounts[index]?.id ?? 0, code });
    await measure(accounts.length, 1, ask);
    measured.push({ ask, took: median(await measure(accounts.length, 1, ask)) });
  }
  const [slowest] = measured.sort((a, b) => b.took - a.took);
  return slowest?.ask;
};

const deletions = async (calls: number, runs: number): Promise<Work> => {
  const prices = expectStatus(await api('GET', '/payments/prices'), 200).body.data;
  const accounts = await accountsOf(Math.ceil((calls * runs) / CODES_A_MINUTE), () =>
    blockedAccount(prices.premium.plus),
  );
  const askBlocker = await slowestBlocker(accounts);
  let next = 0;
  return {
    name: 'phase 1 of delete-account, five blockers',
    run: () =>
      runCalls(calls, 1, async () => {
        const { body, text } = expectStatus(await arm(accounts[next++ % accounts.length]!), 409);
        if (body.blockers.length !== BLOCKERS.length) throw new Error(`not all blockers: ${text}`);
      }),
    peer: {
      name: 'one argon2 check and the slowest blocker',
      run: () =>
        runCalls(calls, 1, async (index) => {
          await checkPassword();
          await askBlocker?.(index % accounts.length);
        }),
    },
    goals: { rate: DELETION_GOAL },
  };
};

/** `runs`: number of runs, including the warm-up, that the accounts must be enough for. */
export const passwords = async (runs = ROUNDS + 1, calls = DELETIONS): Promise<Work[]> => {
  const phase1 = await deletions(calls, runs);
  return [await signIns(runs), phase1];
};
