/**
 * A process is killed during a purchase from the wallet, before each of its commands, and its transactions stay open. The
 * buyer repeats the request with the same key and learns of the purchase within the time that the contract gives.
 */
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { SECOND_MS, systemClock } from '@fitness/shared/kernel/clock.ts';
import { type CrashTestProcess, openInstance, startCrashTestProcess } from '@fitness/shared/testing/crash.ts';
import { type Answer, apiClient, type Send } from '@fitness/shared/testing/harness.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  buyPremium,
  count,
  type Harness,
  newToken,
  newUser,
  PREMIUM,
  putPurchase,
  redeem,
  startHarness,
} from './support.ts';

const PROGRAM = fileURLToPath(new URL('./crash-process.ts', import.meta.url));
/** The limit for a server whose transaction lifetime cannot be set: the stand-in for MongoDB. */
const WITHIN_MS = 70 * SECOND_MS;

let harness: Harness;
let crashing: CrashTestProcess | undefined;

beforeAll(async () => {
  harness = await startHarness({}, systemClock.now());
  // Creates the counters and everything else that is created once.
  const token = newToken();
  await putPurchase(harness, token);
  await redeem(harness.send, newUser(), token);
});

afterAll(async () => {
  await crashing?.kill();
  await harness.close();
});

interface Case {
  user: UserCaller;
  key: string;
  killedBefore: string;
}

/** Stops one instance before its first command, one before its second, and so on, and kills all. */
const killEverywhere = async (): Promise<Case[]> => {
  const process = startCrashTestProcess(PROGRAM, { ...harness.config, LOG_LEVEL: 'silent' });
  crashing = process;
  const cases: Case[] = [];
  for (let nth = 1; ; nth += 1) {
    const [user, key] = [newUser(), randomUUID()];
    harness.wallet.balances.set(user.userId, 2 * PREMIUM);
    const instance = await openInstance(process, nth);
    const killedBefore = await instance.heldBefore(
      buyPremium(apiClient('store-billing', instance.url), user, key),
    );
    if (killedBefore === undefined) break;
    cases.push({ user, key, killedBefore });
  }
  await process.kill({ leaveSessions: true });
  return cases;
};

/** Repeats the request after `Retry-After`, as a client does. */
const repeatUntilBought = async (
  send: Send,
  { user, key }: Case,
): Promise<{ answer: Answer; tookMs: number }> => {
  const startedAt = performance.now();
  for (;;) {
    const answer = await buyPremium(send, user, key);
    const tookMs = performance.now() - startedAt;
    if (answer.status === 201 || tookMs > 2 * WITHIN_MS) return { answer, tookMs };
    expect([409, 503]).toContain(answer.status);
    const retryAfterS = Number(answer.headers.get('retry-after'));
    expect(retryAfterS).toBeGreaterThan(0);
    await new Promise((resolve) => setTimeout(resolve, retryAfterS * SECOND_MS));
  }
};

test('every buyer who repeats the request gets the purchase and is charged once', async () => {
  const cases = await killEverywhere();
  expect(cases.map(({ killedBefore }) => killedBefore)).toContain('commitTransaction');
  // Another process, with the real clock and without the sweeper.
  const { service, send } = await harness.replica({}, { clock: systemClock });
  const outcomes = await Promise.all(cases.map((each) => repeatUntilBought(send, each))).finally(() =>
    service.close(),
  );
  for (const [index, { answer, tookMs }] of outcomes.entries()) {
    const { killedBefore, user } = cases[index] as Case;
    expect({ killedBefore, status: answer.status }).toEqual({ killedBefore, status: 201 });
    expect({ killedBefore, inTime: tookMs <= WITHIN_MS, tookMs }).toMatchObject({ inTime: true });
    expect(harness.wallet.bookings(user.userId, 'purchase')).toHaveLength(1);
    expect(await count(harness, 'subscriptions', { user_id: user.userId })).toBe(1);
  }
});
