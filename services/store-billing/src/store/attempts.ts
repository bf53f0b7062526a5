/** The journal of redemptions, written before the store is asked. */
import { createHash } from 'node:crypto';
import type { Clock, Random } from '@fitness/shared/kernel/clock.ts';
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { createDueRowQueue } from '@fitness/shared/mongo/due-queue.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import { countWaiting, type Waiting } from '@fitness/shared/mongo/waiting.ts';
import {
  ATTEMPT_LEASE_MS,
  type Attempt,
  type AttemptState,
  nextWaitMs,
  type Presentation,
  VERIFICATION_WINDOW_MS,
} from '../domain/attempt.ts';
import { CLAIM_WAIT_MS, whenTimedOut } from './job-claim.ts';
import type { AttemptDocument } from './models/store-purchases.ts';
import type { Models } from './models.ts';
import { fromTargetFields, toTargetFields } from './target-fields.ts';

export interface Attempts {
  /**
   * Stores a presentation as open and leases it to the request. `granted`: the same presentation already has its
   * receipt, and nothing was written.
   */
  open(presentation: Presentation, now: Date): Promise<Attempt | 'granted'>;
  /** Called in the transaction of the grant. False if the attempt is already granted. */
  grant(session: ClientSession, attempt: Attempt, now: Date): Promise<boolean>;
  /** Stores the final state without a grant. Does nothing if it was presented again or granted in the meantime. */
  finish(
    attempt: Attempt,
    state: Exclude<AttemptState, 'open'>,
    reason: string | null,
    now: Date,
  ): Promise<void>;
  /** Leaves it open and schedules the next verification. */
  postpone(attempt: Attempt, reason: string, now: Date): Promise<void>;
  find(id: string): Promise<Attempt | undefined>;
  /** Attempts that are still being verified. */
  waiting(channel: string): Promise<Waiting>;
  /** Due attempts; users take turns. */
  due(channel: string, limit: number): Promise<Attempt[]>;
  /** Claims a due attempt for the background. False if another process or transaction holds it. */
  claim(attempt: Attempt): Promise<boolean>;
}

const attemptId = ({ channel, purchaseToken, productId, userId, target }: Presentation): string =>
  createHash('sha256')
    .update(JSON.stringify([channel, purchaseToken, productId, userId, target?.type, target?.id]))
    .digest('hex');

const fromDocument = (document: AttemptDocument): Attempt => ({
  id: document._id,
  channel: document.channel,
  purchaseToken: document.purchase_token,
  productId: document.product_id,
  userId: document.user_id,
  target: fromTargetFields(document),
  state: document.state,
  revision: document.revision,
  tries: document.tries,
  nextCheckAt: document.next_check_at,
  giveUpAt: document.give_up_at,
});

const MAX_UPSERT_TRIES = 20;
const NOT_GRANTED = () => trusted({ $ne: 'granted' as const });

const later = (now: Date, durationMs: number): Date => new Date(now.getTime() + durationMs);

/** Undefined if the attempt is granted or a concurrent upsert inserted it first. */
const upsert = async (
  { attempts }: Models,
  presentation: Presentation,
  { now, revision, nextCheckAt }: { now: Date; revision: string; nextCheckAt: Date },
): Promise<Attempt | undefined> => {
  const { channel, purchaseToken, productId, userId, target } = presentation;
  const id = attemptId(presentation);
  const giveUpAt = later(now, VERIFICATION_WINDOW_MS);
  try {
    await attempts.updateOne(
      { _id: id, state: NOT_GRANTED() },
      {
        $set: {
          state: 'open',
          reason: null,
          tries: 0,
          revision,
          next_check_at: nextCheckAt,
          give_up_at: giveUpAt,
          updated_at: now,
        },
        $setOnInsert: {
          channel,
          purchase_token: purchaseToken,
          product_id: productId,
          user_id: userId,
          ...toTargetFields(target),
          created_at: now,
        },
      },
      { upsert: true },
    );
    return { ...presentation, id, state: 'open', revision, tries: 0, nextCheckAt, giveUpAt };
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
    return undefined;
  }
};

/** `realTime` is the clock of the tries, each of which is leased to one process. */
export const createAttempts = (
  models: Models,
  { random, realTime }: { random: Random; realTime: Clock },
): Attempts => {
  const { attempts } = models;
  const takeDue = createDueRowQueue(attempts, { due: 'next_check_at', user: 'user_id' }, fromDocument);
  const checkIn = (waitMs: number): Date => later(realTime.now(), waitMs);

  return {
    open: async (presentation, now) => {
      for (let tries = 0; tries < MAX_UPSERT_TRIES; tries += 1) {
        const revision = random.uuid();
        const nextCheckAt = checkIn(ATTEMPT_LEASE_MS);
        const opened = await upsert(models, presentation, { now, revision, nextCheckAt });
        if (opened !== undefined) return opened;
        const document = await attempts
          .findById(attemptId(presentation), { state: 1 })
          .lean<{ state: string }>();
        if (document?.state === 'granted') return 'granted';
      }
      throw new Error('the attempt could not be stored');
    },
    grant: async (session, { id }, now) => {
      const granted = await attempts.updateOne(
        { _id: id, state: NOT_GRANTED() },
        { $set: { state: 'granted', reason: null, next_check_at: null, updated_at: now } },
        { session },
      );
      return granted.matchedCount === 1;
    },
    finish: async ({ id, revision }, state, reason, now) => {
      await attempts.updateOne(
        { _id: id, state: 'open', revision },
        { $set: { state, reason, next_check_at: null, updated_at: now } },
      );
    },
    postpone: async ({ id, revision, tries }, reason, now) => {
      const next = checkIn(nextWaitMs(tries));
      await attempts.updateOne(
        { _id: id, state: 'open', revision },
        { $set: { reason, tries: tries + 1, next_check_at: next, updated_at: now } },
      );
    },
    find: async (id) => {
      const document = await attempts.findById(id).lean<AttemptDocument>();
      return document === null ? undefined : fromDocument(document);
    },
    waiting: (channel) => countWaiting(attempts, { channel, next_check_at: trusted({ $gt: new Date(0) }) }),
    due: (channel, limit) => takeDue(realTime.now(), limit, { channel }),
    claim: async ({ id, revision, nextCheckAt }) => {
      const claimed = await attempts
        .updateOne(
          { _id: id, state: 'open', revision, next_check_at: nextCheckAt },
          { $set: { next_check_at: checkIn(ATTEMPT_LEASE_MS) } },
          { maxTimeMS: CLAIM_WAIT_MS },
        )
        .catch(whenTimedOut({ modifiedCount: 0 }));
      return claimed.modifiedCount === 1;
    },
  };
};
