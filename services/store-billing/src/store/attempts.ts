/** The journal of redemptions: written before the store is asked. */
import { createHash } from 'node:crypto';
import type { Random } from '@fitness/shared/clock.ts';
import { type ClientSession, trusted } from '@fitness/shared/mongo/connect.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import {
  ATTEMPT_LEASE_MS,
  type Attempt,
  type AttemptState,
  nextWaitMs,
  type Presentation,
  VERIFICATION_WINDOW_MS,
} from '../domain/attempt.ts';
import { CLAIM_WAIT_MS, nothingWhenLate } from './claim.ts';
import type { AttemptDocument, Models } from './models.ts';

export interface Attempts {
  /**
   * Journals a presentation as open and keeps the background away from it while the request lasts. `granted`: this very
   * presentation has its receipt meanwhile, and nothing was written.
   */
  open(presentation: Presentation, now: Date): Promise<Attempt | 'granted'>;
  /** In the transaction of the grant; false when it is granted already. */
  grant(session: ClientSession, attempt: Attempt, now: Date): Promise<boolean>;
  /** Ends it otherwise; not when the client has presented it again, or it was granted, meanwhile. */
  settle(
    attempt: Attempt,
    state: Exclude<AttemptState, 'open'>,
    reason: string | null,
    now: Date,
  ): Promise<void>;
  /** Leaves it open, to be asked about again. */
  postpone(attempt: Attempt, reason: string, now: Date): Promise<void>;
  due(channel: string, now: Date, limit: number): Promise<Attempt[]>;
  /** Takes a due one for the background; false when somebody else has it, be it a dead process's transaction. */
  claim(attempt: Attempt, now: Date): Promise<boolean>;
}

const attemptId = ({ channel, purchaseToken, productId, userId, target }: Presentation): string =>
  createHash('sha256')
    .update(JSON.stringify([channel, purchaseToken, productId, userId, target?.type, target?.id]))
    .digest('hex');

const toAttempt = (found: AttemptDocument): Attempt => ({
  id: found._id,
  channel: found.channel,
  purchaseToken: found.purchase_token,
  productId: found.product_id,
  userId: found.user_id,
  target:
    found.boostable_type === null || found.boostable_id === null
      ? null
      : { type: found.boostable_type, id: found.boostable_id },
  state: found.state,
  revision: found.revision,
  tries: found.tries,
  nextCheckAt: found.next_check_at,
  giveUpAt: found.give_up_at,
});

const UPSERT_ATTEMPTS = 20;
const NOT_GRANTED = () => trusted({ $ne: 'granted' as const });

const later = (now: Date, durationMs: number): Date => new Date(now.getTime() + durationMs);

export const createAttempts = ({ attempts }: Models, random: Random): Attempts => {
  /** Undefined when the document is there and is not to be touched, or was made by another at this moment. */
  const upsert = async (presentation: Presentation, now: Date): Promise<Attempt | undefined> => {
    const { channel, purchaseToken, productId, userId, target } = presentation;
    const id = attemptId(presentation);
    const [nextCheckAt, giveUpAt] = [later(now, ATTEMPT_LEASE_MS), later(now, VERIFICATION_WINDOW_MS)];
    const revision = random.uuid();
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
            boostable_type: target?.type ?? null,
            boostable_id: target?.id ?? null,
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

  return {
    open: async (presentation, now) => {
      for (let attempt = 1; attempt <= UPSERT_ATTEMPTS; attempt += 1) {
        const opened = await upsert(presentation, now);
        if (opened !== undefined) return opened;
        const found = await attempts
          .findById(attemptId(presentation), { state: 1 })
          .lean<{ state: string }>();
        if (found?.state === 'granted') return 'granted';
      }
      throw new Error('the journal took no attempt');
    },
    grant: async (session, { id }, now) => {
      const granted = await attempts.updateOne(
        { _id: id, state: NOT_GRANTED() },
        { $set: { state: 'granted', reason: null, next_check_at: null, updated_at: now } },
        { session },
      );
      return granted.matchedCount === 1;
    },
    settle: async ({ id, revision }, state, reason, now) => {
      await attempts.updateOne(
        { _id: id, state: 'open', revision },
        { $set: { state, reason, next_check_at: null, updated_at: now } },
      );
    },
    postpone: async ({ id, revision, tries }, reason, now) => {
      const next = later(now, nextWaitMs(tries));
      await attempts.updateOne(
        { _id: id, state: 'open', revision },
        { $set: { reason, tries: tries + 1, next_check_at: next, updated_at: now } },
      );
    },
    due: async (channel, now, limit) => {
      const found = await attempts
        .find({ next_check_at: trusted({ $lte: now }), channel })
        .limit(limit)
        .lean<AttemptDocument[]>();
      return found.map(toAttempt);
    },
    claim: async ({ id, revision, nextCheckAt }, now) => {
      const claimed = await attempts
        .updateOne(
          { _id: id, state: 'open', revision, next_check_at: nextCheckAt },
          { $set: { next_check_at: later(now, ATTEMPT_LEASE_MS) } },
          { maxTimeMS: CLAIM_WAIT_MS },
        )
        .catch(nothingWhenLate({ modifiedCount: 0 }));
      return claimed.modifiedCount === 1;
    },
  };
};
