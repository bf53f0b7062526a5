/**
 * Work that is bounded by a password check. Sign-ins are compared with argon2 alone. Phase 1 of delete-account, one
 * call at a time, is compared with one argon2 check plus the slowest of the account's five blockers. Two further rows
 * show the minimum that each can take, with bare clients and no code of identity. For phase 1 that includes a call
 * through the gateway; for a sign-in it excludes HTTP.
 */
import { randomUUID } from 'node:crypto';
import { BLOCKERS } from '@fitness/contracts/blockers.ts';
import { createGrpcClient } from '@fitness/shared/grpc/client.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { openCallerSigner } from '@fitness/shared/process-identity/open-caller-signer.ts';
import { connectRedis } from '@fitness/shared/runtime/redis.ts';
import { hash, verify } from '@node-rs/argon2';
import { connectStack } from '../../scripts/lib/stack-client.mjs';
import { type Account, api, arm, deposit, expectStatus, PASSWORD, register } from '../../test/e2e/support.ts';
import { ROUNDS, SECONDS } from '../config.ts';
import { measure, timed } from '../figures.ts';
import { load, type Run } from '../load.ts';
import { median, type Work } from '../race.ts';
import { databaseOf, openDatabase } from '../seed-rows.ts';
import { WITHOUT_QUERY } from './reads.ts';

const LOGIN_GOAL = 0.85;
const DELETION_GOAL = 1.3;
const AT_ONCE = 8;
/** The same cost as identity's hashes. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
const BANK_ACCOUNT = 'IR820540102680020817909002';
/** Limits per account: further calls within a minute are refused. */
const [LOGINS_A_MINUTE, CODES_A_MINUTE] = [10, 5];
/** Calls in one run, enough for the code to be compiled after the warm-up, as in a long-running process. */
const DELETIONS = 50;

const run = async (
  count: number,
  atOnce: number,
  work: (index: number) => Promise<unknown>,
): Promise<Run> => ({
  count,
  seconds: (await timed(() => measure(count, atOnce, work))) / 1_000,
});

/** The number of accounts that stay below their limit if `runs` runs of `calls` calls, spread over them, happen within a minute. */
const accountsFor = (calls: number, runs: number, limit: number): number =>
  Math.ceil(calls / Math.max(1, Math.floor(limit / runs)));

interface LogIns {
  work: Work;
  least: Work;
  close: () => Promise<void>;
}

const logins = async (runs: number): Promise<LogIns> => {
  const digest = await hash(PASSWORD, COST);
  const check = () => verify(digest, PASSWORD);
  await measure(AT_ONCE, AT_ONCE, check);
  const checkMs = (await timed(() => measure(AT_ONCE * 10, AT_ONCE, check))) / (AT_ONCE * 10);
  /** An upper bound for the sign-ins of a run. */
  const most = Math.ceil((SECONDS * 1_000) / checkMs);
  const accounts: Account[] = [];
  await measure(accountsFor(most, runs, LOGINS_A_MINUTE), AT_ONCE, async () =>
    accounts.push(await register()),
  );
  const peer: Work['peer'] = { name: 'argon2 alone', run: () => run(most, AT_ONCE, check) };
  const { url } = connectStack().part('gateway');
  const redis = await connectRedis({ url: connectStack().describe().servers.REDIS_URL });
  const connection = await openDatabase('bench_logins');
  const client = connection.getClient();
  const keys = connection.collection<{ _id: number; sign_ins: number }>('keys');
  const tokens = connection.collection<{ _id: string }>('tokens');
  await keys.insertMany(accounts.map(({ id }) => ({ _id: id, sign_ins: 0 })));
  const logIn = async (index: number): Promise<void> => {
    const _id = accounts[index % accounts.length]?.id ?? 0;
    await redis.incr(`bench:logins:${_id}`);
    await keys.findOne({ _id });
    await check();
    await client.withSession((session) =>
      session.withTransaction(
        async () => {
          await keys.updateOne({ _id }, { $inc: { sign_ins: 1 } }, { session });
          await tokens.insertOne({ _id: randomUUID() }, { session });
        },
        { writeConcern: { w: 'majority' } },
      ),
    );
  };
  return {
    work: {
      name: 'sign-in',
      run: () =>
        load({
          origin: url,
          paths: accounts.map(() => '/api/v1/auth/login'),
          bodies: accounts.map(({ username }) => ({ login: username, password: PASSWORD })),
          connections: AT_ONCE,
        }),
      peer,
      goals: { rate: LOGIN_GOAL },
    },
    least: {
      name: 'the limit in Redis, a read by id, an argon2 check and a transaction of two writes, without HTTP',
      run: () => run(most, AT_ONCE, logIn),
      peer,
      goals: { rate: LOGIN_GOAL },
    },
    close: async () => {
      redis.disconnect();
      await connection.dropDatabase();
      await connection.close();
    },
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

interface Blocker {
  ask(userId: number): Promise<unknown>;
  close(): void;
}

/** Blocker clients in the name of identity, which evaluates blockers. */
const openBlockers = (): Blocker[] => {
  const { parts } = connectStack().describe();
  const log = createLog({ service: 'bench', level: 'warn' });
  const signer = openCallerSigner('identity', parts.identity?.environment as never, log);
  return BLOCKERS.map(({ code, owner }) => {
    const address = `127.0.0.1:${parts[owner]?.grpcPort}`;
    const definition = grpcDefinitions.blockers();
    const client = createGrpcClient({ definition, address, target: owner, signer });
    return {
      ask: (userId) => client.call('Evaluate', { user_id: userId, code }),
      close: () => client.close(),
    };
  });
};

const slowestOf = async (blockers: readonly Blocker[], accounts: readonly Account[]): Promise<Blocker> => {
  let slowest: { blocker: Blocker; took: number } | undefined;
  for (const blocker of blockers) {
    const ask = (index: number) => blocker.ask(accounts[index % accounts.length]?.id ?? 0);
    await measure(accounts.length, 1, ask);
    const took = median(await measure(accounts.length, 1, ask));
    if (took > (slowest?.took ?? 0)) slowest = { blocker, took };
  }
  if (slowest === undefined) throw new Error('there are no blockers');
  return slowest.blocker;
};

const deletions = async (
  calls: number,
  runs: number,
): Promise<{ phase1: Work; leastOfPhase1: Work; close: () => Promise<void> }> => {
  const prices = expectStatus(await api('GET', '/payments/prices'), 200).body.data;
  const accounts: Account[] = [];
  await measure(Math.ceil((calls * runs) / CODES_A_MINUTE), 4, async () =>
    accounts.push(await blockedAccount(prices.premium.plus)),
  );
  const blockers = openBlockers();
  const slowest = await slowestOf(blockers, accounts);
  const digest = await hash(PASSWORD, COST);
  let next = 0;
  const account = (): Account => accounts[next++ % accounts.length]!;
  const userId = (index: number): number => accounts[index % accounts.length]?.id ?? 0;
  const peer: Work['peer'] = {
    name: 'one argon2 check and the slowest blocker',
    run: () =>
      run(calls, 1, async (index) => {
        await verify(digest, PASSWORD);
        await slowest.ask(userId(index));
      }),
  };
  const phase1: Work = {
    name: 'phase 1 of delete-account, five blockers',
    run: () =>
      run(calls, 1, async () => {
        const answer = expectStatus(await arm(account()), 409);
        if (answer.body.blockers.length !== BLOCKERS.length)
          throw new Error(`not all blockers: ${answer.text}`);
      }),
    peer,
    goals: { time: DELETION_GOAL },
  };
  const redis = await connectRedis({ url: connectStack().describe().servers.REDIS_URL });
  const database = await openDatabase(databaseOf('identity'));
  const users = database.collection<{ _id: number }>('users');
  const leastOfPhase1: Work = {
    name:
      'a call without a query through the gateway, the token and the limit in Redis, a read by id, ' +
      'then an argon2 check beside five blockers',
    run: () =>
      run(calls, 1, async (index) => {
        expectStatus(await api('GET', WITHOUT_QUERY), 200);
        await redis.mget(`bench:epoch:${userId(index)}`, 'bench:epoch');
        await redis.incr(`bench:limit:${userId(index)}`);
        await users.findOne({ _id: userId(index) });
        await Promise.all([verify(digest, PASSWORD), ...blockers.map(({ ask }) => ask(userId(index)))]);
      }),
    peer,
    goals: { time: DELETION_GOAL },
  };
  return {
    phase1,
    leastOfPhase1,
    close: async () => {
      for (const blocker of blockers) blocker.close();
      redis.disconnect();
      await database.close();
    },
  };
};

interface Passwords {
  works: Work[];
  /** The minimum that each of `works` can take, without identity. */
  least: Work[];
  close: () => Promise<void>;
}

/** `runs`: number of runs, including the warm-up, that the accounts must be enough for. */
export const passwords = async (runs = ROUNDS + 1, calls = DELETIONS): Promise<Passwords> => {
  const { phase1, leastOfPhase1, close } = await deletions(calls, runs);
  const logIns = await logins(runs);
  return {
    works: [logIns.work, phase1],
    least: [logIns.least, leastOfPhase1],
    close: async () => {
      await close();
      await logIns.close();
    },
  };
};
