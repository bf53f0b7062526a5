/**
 * Work that is bounded by a password check. Sign-ins are compared with argon2 alone. Phase 1 of delete-account, one
 * call at a time, is compared with one argon2 check plus the slowest of the account's five blockers.
 */
import { BLOCKERS } from '@fitness/contracts/blockers.ts';
import { createGrpcClient } from '@fitness/shared/grpc/client.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { openCallerSigner } from '@fitness/shared/process-identity/open-caller-signer.ts';
import { hash, verify } from '@node-rs/argon2';
import { connectStack } from '../../scripts/lib/stack-client.mjs';
import { type Account, api, arm, deposit, expectStatus, PASSWORD, register } from '../../test/e2e/support.ts';
import { ROUNDS, SECONDS } from '../config.ts';
import { measure, median, runCalls } from '../figures.ts';
import { load } from '../load.ts';
import type { Work } from '../race.ts';

const LOGIN_GOAL = 0.85;
const DELETION_GOAL = 0.77;
const AT_ONCE = 8;
/** The same cost as identity's hashes. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
const BANK_ACCOUNT = 'IR820540102680020817909002';
/** Limits per account: further calls within a minute are refused. */
const [LOGINS_A_MINUTE, CODES_A_MINUTE] = [10, 5];
/** Calls in one run, enough for the code to be compiled after the warm-up, as in a long-running process. */
const DELETIONS = 50;

/** The number of accounts that stay below their limit if `runs` runs of `calls` calls, spread over them, happen within a minute. */
const accountsFor = (calls: number, runs: number, limit: number): number =>
  Math.ceil(calls / Math.max(1, Math.floor(limit / runs)));

const signIns = async (runs: number): Promise<Work> => {
  const digest = await hash(PASSWORD, COST);
  const check = () => verify(digest, PASSWORD);
  await measure(AT_ONCE, AT_ONCE, check);
  const { count, seconds } = await runCalls(AT_ONCE * 10, AT_ONCE, check);
  /** An upper bound for the sign-ins of a run. */
  const most = Math.ceil((SECONDS * count) / seconds);
  const accounts: Account[] = [];
  await measure(accountsFor(most, runs, LOGINS_A_MINUTE), AT_ONCE, async () =>
    accounts.push(await register()),
  );
  return {
    name: 'sign-in',
    run: () =>
      load({
        origin: connectStack().part('gateway').url,
        paths: accounts.map(() => '/api/v1/auth/login'),
        bodies: accounts.map(({ username }) => ({ login: username, password: PASSWORD })),
        connections: AT_ONCE,
      }),
    peer: { name: 'argon2 alone', run: () => runCalls(most, AT_ONCE, check) },
    goals: { rate: LOGIN_GOAL },
  };
};

/** An account with a gym, a balance, an open withdrawal, a subscription and an undelivered trainee. */
const blockedAccount = async (premiumPrice: number): Promise<Account> => {
  const [account, buyer] = [await register(), await register()];
  const send = async (as: Account, path: string, body: unknown, method = 'POST') =>
    api(method, path, { token: as.token, body });
  const profile = { bank_account_number: BANK_ACCOUNT, current_password: PASSWORD };
  expectStatus(await send(account, '/auth/me', profile, 'PUT'), 200);
  const gym = { name: 'Bench', address: 'Here', location_lat: 35.7, location_lng: 51.4 };
  expectStatus(await send(account, '/gyms', gym), 201);
  const plan = { title: 'Plan', description: 'Plan', price: 1_000, duration_days: 30 };
  const service = expectStatus(await send(account, '/training-services', plan), 201).body.data;
  await deposit(buyer.token, 1_000);
  expectStatus(await send(buyer, `/training-services/${service.id}/purchase`, undefined), 201);
  await deposit(account.token, premiumPrice + 20_000);
  expectStatus(await send(account, '/payments/buy-premium', { type: 'plus' }), 201);
  expectStatus(await send(account, '/payments/withdrawals', { amount: 5_000 }), 201);
  return account;
};

type AskBlocker = (userId: number) => Promise<unknown>;

/** Blocker clients in the name of identity, which evaluates blockers. */
const openBlockers = (): AskBlocker[] => {
  const { parts } = connectStack().describe();
  const log = createLog({ service: 'bench', level: 'warn' });
  const signer = openCallerSigner('identity', parts.identity?.environment as never, log);
  return BLOCKERS.map(({ code, owner }) => {
    const address = `127.0.0.1:${parts[owner]?.grpcPort}`;
    const definition = grpcDefinitions.blockers();
    const client = createGrpcClient({ definition, address, target: owner, signer });
    return (userId) => client.call('Evaluate', { user_id: userId, code });
  });
};

const slowestOf = async (
  blockers: readonly AskBlocker[],
  userIds: readonly number[],
): Promise<AskBlocker> => {
  let slowest: { blocker: AskBlocker; took: number } | undefined;
  for (const blocker of blockers) {
    const ask = (index: number) => blocker(userIds[index] ?? 0);
    await measure(userIds.length, 1, ask);
    const took = median(await measure(userIds.length, 1, ask));
    if (took > (slowest?.took ?? 0)) slowest = { blocker, took };
  }
  if (slowest === undefined) throw new Error('there are no blockers');
  return slowest.blocker;
};

const deletions = async (calls: number, runs: number): Promise<Work> => {
  const prices = expectStatus(await api('GET', '/payments/prices'), 200).body.data;
  const accounts: Account[] = [];
  await measure(Math.ceil((calls * runs) / CODES_A_MINUTE), 4, async () =>
    accounts.push(await blockedAccount(prices.premium.plus)),
  );
  const userIds = accounts.map(({ id }) => id);
  const slowest = await slowestOf(openBlockers(), userIds);
  const digest = await hash(PASSWORD, COST);
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
          await verify(digest, PASSWORD);
          await slowest(userIds[index % userIds.length] ?? 0);
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
