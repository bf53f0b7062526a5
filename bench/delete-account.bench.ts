/**
 * Phase 1 of delete-account through the gateway, 20 concurrent calls, for accounts to which all five blockers apply. It
 * is compared with the slowest blocker call in three ways: the slowest owner during this load, by identity's metrics
 * (the mean, and the bucket of the slowest call), and each blocker alone over gRPC. Phase 1 also checks a password
 * (argon2id), which costs processor time that only more cores reduce, so that is measured as well.
 */

import { availableParallelism } from 'node:os';
import { BLOCKERS } from '@fitness/contracts/blockers.ts';
import { createGrpcClient } from '@fitness/shared/grpc/client.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { createLog } from '@fitness/shared/kernel/log.ts';
import { openCallerSigner } from '@fitness/shared/runtime/open-caller-signer.ts';
import { hash, verify } from '@node-rs/argon2';
import {
  type Account,
  api,
  arm,
  deposit,
  expectStatus,
  PASSWORD,
  register,
  stack,
} from '../test/e2e/support.ts';
import { measure, ms, quantile } from './figures.ts';

const ACCOUNTS = 60;
const CONCURRENCY = 20;
const BANK_ACCOUNT = 'IR120570028780010957775103';

const prices = expectStatus(await api('GET', '/payments/prices'), 200).body.data;

/** An account with a gym, a balance, an open withdrawal, a subscription and an undelivered trainee. */
const blockedAccount = async (): Promise<Account> => {
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
  await deposit(account.token, prices.premium.plus + 20_000);
  expectStatus(await send(account, '/payments/buy-premium', { type: 'plus' }), 201);
  expectStatus(await send(account, '/payments/withdrawals', { amount: 5_000 }), 201);
  return account;
};

const accounts: Account[] = [];
await measure(ACCOUNTS, 4, async () => accounts.push(await blockedAccount()));

const description = stack().describe();
const log = createLog({ service: 'bench', level: 'warn' });
/** In the name of identity, which evaluates the blockers. */
const signer = openCallerSigner('identity', description.parts.identity?.environment as never, log);

const report = (name: string, times: number[]): number => {
  const p50 = quantile(times, 0.5);
  console.log(`${name.padEnd(44)} p50 ${ms(p50).padStart(9)}   p99 ${ms(quantile(times, 0.99)).padStart(9)}`);
  return p50;
};

interface CallTimes {
  sum: number;
  count: number;
  /** The number of calls that took at most so many seconds, by these seconds. */
  within: Map<number, number>;
}

/** Identity's metrics of its calls to blockers, by target. */
const blockerSeconds = async (): Promise<Map<string, CallTimes>> => {
  const text = await (await fetch(`${description.parts.identity?.url}/metrics`)).text();
  const found = new Map<string, CallTimes>();
  const series = /^grpc_client_duration_seconds_(sum|count|bucket)\{([^}]*)\} (\S+)$/gm;
  for (const [, kind, labels = '', value] of text.matchAll(series)) {
    const target = /target="([^"]+)"/.exec(labels)?.[1];
    if (target === undefined || !labels.includes('method="Evaluate"') || !labels.includes('code="OK"'))
      continue;
    const entry = found.get(target) ?? { sum: 0, count: 0, within: new Map<number, number>() };
    found.set(target, entry);
    if (kind === 'bucket') entry.within.set(Number(/le="([^"]+)"/.exec(labels)?.[1]), Number(value));
    else entry[kind as 'sum' | 'count'] = Number(value);
  }
  return found;
};

/** The largest lower bound, in milliseconds, of the slowest call between two measurements. */
const slowestMoreThan = (before: CallTimes | undefined, after: CallTimes): number => {
  const calls = after.count - (before?.count ?? 0);
  const exceeded = [...after.within]
    .filter(
      ([seconds, count]) => Number.isFinite(seconds) && count - (before?.within.get(seconds) ?? 0) < calls,
    )
    .map(([seconds]) => seconds * 1_000);
  return Math.max(0, ...exceeded);
};

/** Calls for each account. The rate limit is five a minute. */
const [WARM_UP, MEASURED] = [2, 3];
/** Opens connections and lets the code be compiled. */
await measure(accounts.length * WARM_UP, CONCURRENCY, (index) => arm(accounts[index % ACCOUNTS]!));

const before = await blockerSeconds();
const phase1 = await measure(accounts.length * MEASURED, CONCURRENCY, async (index) => {
  const answer = expectStatus(await arm(accounts[index % ACCOUNTS]!), 409);
  if (answer.body.blockers.length !== BLOCKERS.length) throw new Error(`not all blockers: ${answer.text}`);
});
const after = await blockerSeconds();
console.log(`${accounts.length} accounts, ${CONCURRENCY} concurrent calls:`);
const phase1P50 = report('phase 1, five blockers, through the gateway', phase1);
let slowestWithin = 0;
let slowestCall = 0;
for (const [target, seen] of after) {
  const earlier = before.get(target);
  const mean = ((seen.sum - (earlier?.sum ?? 0)) / (seen.count - (earlier?.count ?? 0))) * 1_000;
  const moreThan = slowestMoreThan(earlier, seen);
  slowestWithin = Math.max(slowestWithin, mean);
  slowestCall = Math.max(slowestCall, moreThan);
  const name = `  within it, one blocker call: ${target}`.padEnd(56);
  console.log(`${name} mean ${ms(mean).padStart(9)}   slowest more than ${ms(moreThan)}`);
}

let slowest = 0;
for (const { code, owner } of BLOCKERS) {
  const address = `127.0.0.1:${description.parts[owner]?.grpcPort}`;
  const definition = grpcDefinitions.blockers();
  const client = createGrpcClient({ definition, address, target: owner, signer });
  const ask = (index: number) => client.call('Evaluate', { user_id: accounts[index]!.id, code });
  await measure(accounts.length, CONCURRENCY, ask);
  slowest = Math.max(
    slowest,
    report(`  one blocker over gRPC: ${code}`, await measure(accounts.length, CONCURRENCY, ask)),
  );
  client.close();
}

const OPTIONS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
const digest = await hash('correct-horse-battery', OPTIONS);
const check = () => verify(digest, 'correct-horse-battery');
await measure(CONCURRENCY, CONCURRENCY, check);
const passwordP50 = report(
  '  one password check, without other load',
  await measure(accounts.length, CONCURRENCY, check),
);

const ratio = (name: string, value: number) => console.log(`${name.padEnd(56)} ${value.toFixed(2)}`);
console.log('p50 of phase 1 (goal: 2 or less), as a ratio');
ratio('  to the slowest owner within that load, its mean', phase1P50 / slowestWithin);
ratio('  to the slowest single call within that load, at most', phase1P50 / slowestCall);
ratio('  to the slowest owner alone, its p50', phase1P50 / slowest);
ratio(`  of the password checks alone to that, ${availableParallelism()} cores`, passwordP50 / slowest);
