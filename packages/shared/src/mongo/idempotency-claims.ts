/** Claims of idempotency keys: one run at a time has a key, and a run whose process has crashed loses it. */
import type { ClientSession, Connection } from 'mongoose';
import { type Clock, DAY_MS, MINUTE_MS, SECOND_MS } from '../kernel/clock.ts';
import { AppError, invalid, message } from '../kernel/error.ts';
import { keepRenewing } from '../kernel/timing.ts';
import { createIndex } from './indexes.ts';
import type { Notice } from './notice.ts';
import { collectionPrivacy, erase } from './privacy.ts';
import { inTransaction, isConflictTimeout, isDuplicateKey } from './transaction.ts';

const COLLECTION = 'idempotency_keys';
/** Lifetime of a key and its stored reply. */
export const TTL_MS = DAY_MS;
/** A claim expires after this time if its process has crashed. */
export const CLAIM_MS = 6 * SECOND_MS;
/** How often a run renews its claim. Two thirds of the claim remain for clock differences and a slow database. */
const RENEW_MS = 2 * SECOND_MS;
/** Longer than any request may take. A run that hangs loses its key after this time. */
const LONGEST_RUN_MS = MINUTE_MS;
/** How long a claim waits for the transaction of another run, whose process may be dead. */
const LOCK_WAIT_MS = SECOND_MS;

interface Entry {
  _id: string;
  user_id: number;
  request_hash: string;
  claim: string;
  claimed_until: Date;
  reply: StoredReply | null;
  expires_at: Date;
}

collectionPrivacy<Entry>(
  COLLECTION,
  erase('stored responses, deleted after 24 hours in any case', '_id', 'user_id', 'request_hash', 'claim'),
  erase('stored responses, deleted after 24 hours in any case', 'claimed_until', 'reply', 'expires_at'),
);

/** The reply that is stored under a key: a status and a JSON body. */
export interface StoredReply {
  status: number;
  body?: unknown;
}

/**
 * A user's key belongs to one request across all services. Each service stores its keys with their effects in its
 * own database, and all services share this check.
 */
export interface CrossServiceCheck {
  /**
   * Registers the request under the key `id` for `ttlMs`. Returns false if another request has this key. Returns
   * true if the check is unavailable: each service then relies on its own database, and no effect happens twice.
   */
  register(id: string, requestHash: string, ttlMs: number): Promise<boolean>;
  /** Frees the key: the request had no effect. */
  release(id: string, requestHash: string): Promise<void>;
}

export const otherRequestError = (): AppError =>
  invalid({ idempotency_key: message('idempotency.other_body') });

/** 409 while another run has the key. */
export const runningError = (): AppError =>
  new AppError({
    kind: 'conflict',
    code: 'idempotency.running',
    message: message('idempotency.running'),
    retryAfterS: RENEW_MS / SECOND_MS,
  });

export interface ClaimOptions {
  connection: Connection;
  crossServiceCheck: CrossServiceCheck;
  clock: Clock;
  /** The clock for claims, which must not expire when `clock` is advanced. Default: `clock`. */
  realTime?: Clock | undefined;
  renewMs?: number | undefined;
}

export const createIdempotencyIndexes = async (connection: Connection, notice?: Notice): Promise<void> => {
  const collection = connection.collection(COLLECTION);
  await createIndex(collection, { expires_at: 1 }, { expireAfterSeconds: 0 }, notice);
  await createIndex(collection, { user_id: 1 }, {}, notice);
};

export const entriesOf = (connection: Connection) => connection.collection<Entry>(COLLECTION);

/**
 * Takes over the claim of another run, and returns whether it succeeded. A transaction gives up on a locked row
 * after {@link LOCK_WAIT_MS}. A single write would wait until the transaction of a dead process ends.
 */
const takeOver = async (
  connection: Connection,
  filter: Partial<Entry>,
  newClaim: Partial<Entry>,
): Promise<boolean> => {
  const update = async (session: ClientSession): Promise<boolean> =>
    (await entriesOf(connection).updateOne(filter, { $set: newClaim }, { session })).matchedCount === 1;
  try {
    return await inTransaction(connection, update, { deadlineMs: LOCK_WAIT_MS, isEffect: false });
  } catch (error) {
    // The transaction of another run has the row locked: it is committing, or its process died.
    if (isConflictTimeout(error)) return false;
    throw error;
  }
};

export const createClaims = (options: ClaimOptions) => {
  const { connection, crossServiceCheck, clock, realTime = clock, renewMs = RENEW_MS } = options;
  const entries = entriesOf(connection);

  const claimEnd = (): Date => new Date(realTime.now().getTime() + CLAIM_MS);

  /** Claims the key, or returns the reply that is stored under it. */
  const claim = async (
    id: string,
    userId: number,
    requestHash: string,
    claimId: string,
  ): Promise<StoredReply | undefined> => {
    const now = clock.now();
    const newClaim = {
      user_id: userId,
      request_hash: requestHash,
      claim: claimId,
      claimed_until: claimEnd(),
      reply: null,
      expires_at: new Date(now.getTime() + TTL_MS),
    };
    try {
      await entries.insertOne({ _id: id, ...newClaim });
      return undefined;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
    const existing = await entries.findOne({ _id: id });
    if (existing === null) throw runningError();
    const isRunning = existing.reply === null && existing.claimed_until > realTime.now();
    if (existing.expires_at <= now && !isRunning) {
      // The filter has both dates, because the process of an expired claim may renew it meanwhile.
      const { claim, claimed_until, expires_at } = existing;
      if (await takeOver(connection, { _id: id, claim, claimed_until, expires_at }, newClaim))
        return undefined;
      throw runningError();
    }
    if (existing.request_hash !== requestHash) {
      // The check lost the first request and registered this one. Without a release, it would refuse a repeat of the first.
      await crossServiceCheck.release(id, requestHash);
      throw otherRequestError();
    }
    if (existing.reply !== null) return existing.reply;
    if (isRunning) throw runningError();
    // `claimed_until` is a part of the condition: the other run may have renewed its claim meanwhile.
    const expired = { _id: id, claim: existing.claim, claimed_until: existing.claimed_until, reply: null };
    if (await takeOver(connection, expired, newClaim)) return undefined;
    throw runningError();
  };

  return {
    claim,
    /** Renews the claim until the returned function is called. */
    keepClaim: (ownClaim: Partial<Entry>): (() => void) =>
      keepRenewing(
        // This fails while the transaction of the run has the row locked.
        () =>
          entries.updateOne(ownClaim, { $set: { claimed_until: claimEnd() } }, { maxTimeMS: LOCK_WAIT_MS }),
        { intervalMs: renewMs, maxDurationMs: LONGEST_RUN_MS },
      ),
    /** Deletes the claim after a run without an effect, so the key can be used again. */
    releaseClaim: async (ownClaim: Partial<Entry> & { _id: string }, requestHash: string): Promise<void> => {
      const deleted = await entries.deleteOne(ownClaim, { maxTimeMS: LOCK_WAIT_MS }).catch(() => undefined);
      if (deleted?.deletedCount === 1) await crossServiceCheck.release(ownClaim._id, requestHash);
    },
  };
};
