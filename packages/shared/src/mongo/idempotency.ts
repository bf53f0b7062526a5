/**
 * Implements `Idempotency-Key`, per user and for 24 hours. The reply is stored in the transaction of the effect,
 * so a crash leaves both or neither.
 */
import { createHash } from 'node:crypto';
import type { ClientSession, Connection } from 'mongoose';
import { type Clock, DAY_MS, MINUTE_MS, SECOND_MS } from '../kernel/clock.ts';
import { AppError, invalid, message, outcomeUnknown } from '../kernel/error.ts';
import { keepRenewing } from '../kernel/timing.ts';
import { createIndex } from './indexes.ts';
import type { Notice } from './notice.ts';
import { collectionPrivacy, erase } from './privacy.ts';
import { inTransaction, isConflictTimeout, isDuplicateKey, isOutcomeUnknown } from './transaction.ts';

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
 * Stores the reply for `result` in the transaction of the effect. A use case calls it last inside its
 * transaction. Throws `idempotency.running` if another run has taken over the key.
 */
export type Complete<Result> = (session: ClientSession, result: Result) => Promise<void>;

interface IdempotencyRequest {
  userId: number;
  /** Undefined: the work runs without a key. */
  key: string | undefined;
  /** Method, path and body. A request that differs in one of them under the same key returns 422. */
  fingerprint: unknown;
}

export interface Idempotency {
  /**
   * Returns the stored reply for a repeated key, byte for byte. Otherwise runs `work` and passes its result to
   * `present`. Throws 422 for the field `idempotency_key` if the fingerprint differs (in any service), and 409
   * during the first run. If the process of the first run dies, a repeat takes over the key after
   * {@link CLAIM_MS}. A run that throws releases its key, unless its outcome is unknown. The key then stays with
   * this request, and a repeat takes it over. `present` must not make remote calls.
   */
  run<Result, Reply extends StoredReply>(
    request: IdempotencyRequest,
    present: (result: Result) => Reply,
    work: (complete: Complete<Result>) => Promise<Result>,
  ): Promise<Reply>;
  /**
   * One step of an erasure: deletes at most `limit` stored replies of the user, which contain personal data.
   * Returns the number of deleted replies.
   */
  eraseAccount(session: ClientSession, userId: number, limit: number): Promise<number>;
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

export const createIdempotencyIndexes = async (connection: Connection, notice?: Notice): Promise<void> => {
  const collection = connection.collection(COLLECTION);
  await createIndex(collection, { expires_at: 1 }, { expireAfterSeconds: 0 }, notice);
  await createIndex(collection, { user_id: 1 }, {}, notice);
};

const hashOf = (value: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(value) ?? '')
    .digest('hex');

/** The stored form of a client's key: hashed, because its text may contain personal data. */
export const storedKey = (userId: number, key: string): string => hashOf([userId, key]);

const otherRequestError = (): AppError => invalid({ idempotency_key: message('idempotency.other_body') });

/** 409 while another run has the key. */
export const runningError = (): AppError =>
  new AppError({
    kind: 'conflict',
    code: 'idempotency.running',
    message: message('idempotency.running'),
    retryAfterS: RENEW_MS / SECOND_MS,
  });

export interface IdempotencyOptions {
  connection: Connection;
  crossServiceCheck: CrossServiceCheck;
  clock: Clock;
  /** The clock for claims, which must not expire when `clock` is advanced. Default: `clock`. */
  realTime?: Clock | undefined;
  uuid: () => string;
  renewMs?: number | undefined;
}

export const createIdempotency = ({
  connection,
  crossServiceCheck,
  clock,
  realTime = clock,
  uuid,
  renewMs = RENEW_MS,
}: IdempotencyOptions): Idempotency => {
  const entries = connection.collection<Entry>(COLLECTION);

  const claimEnd = (): Date => new Date(realTime.now().getTime() + CLAIM_MS);

  /**
   * Takes over the claim of another run, and returns whether it succeeded. A transaction gives up on a locked row
   * after {@link LOCK_WAIT_MS}. A single write would wait until the transaction of a dead process ends.
   */
  const takeOver = async (filter: Partial<Entry>, newClaim: Partial<Entry>): Promise<boolean> => {
    const update = async (session: ClientSession): Promise<boolean> =>
      (await entries.updateOne(filter, { $set: newClaim }, { session })).matchedCount === 1;
    try {
      return await inTransaction(connection, update, { deadlineMs: LOCK_WAIT_MS, isEffect: false });
    } catch (error) {
      // The transaction of another run has the row locked: it is committing, or its process died.
      if (isConflictTimeout(error)) return false;
      throw error;
    }
  };

  /** Renews the claim until the returned function is called. */
  const keepClaim = (ownClaim: Partial<Entry>): (() => void) =>
    keepRenewing(
      // This fails while the transaction of the run has the row locked.
      () => entries.updateOne(ownClaim, { $set: { claimed_until: claimEnd() } }, { maxTimeMS: LOCK_WAIT_MS }),
      { intervalMs: renewMs, maxDurationMs: LONGEST_RUN_MS },
    );

  /** Deletes the claim after a run without an effect, so the key can be used again. */
  const releaseClaim = async (
    ownClaim: Partial<Entry> & { _id: string },
    requestHash: string,
  ): Promise<void> => {
    const deleted = await entries.deleteOne(ownClaim, { maxTimeMS: LOCK_WAIT_MS }).catch(() => undefined);
    if (deleted?.deletedCount === 1) await crossServiceCheck.release(ownClaim._id, requestHash);
  };

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
      if (await takeOver({ _id: id, claim, claimed_until, expires_at }, newClaim)) return undefined;
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
    if (await takeOver(expired, newClaim)) return undefined;
    throw runningError();
  };

  const runWithKey = async <Result, Reply extends StoredReply>(
    request: IdempotencyRequest & { key: string },
    present: (result: Result) => Reply,
    work: (complete: Complete<Result>) => Promise<Result>,
  ): Promise<Reply> => {
    const id = storedKey(request.userId, request.key);
    const claimId = uuid();
    const requestHash = hashOf(request.fingerprint);
    if (!(await crossServiceCheck.register(id, requestHash, TTL_MS))) throw otherRequestError();
    const stored = await claim(id, request.userId, requestHash, claimId);
    // The hash covers the route, so the stored reply comes from the same presenter.
    if (stored !== undefined) return stored as Reply;
    const ownClaim = { _id: id, claim: claimId, reply: null };
    const stopRenewing = keepClaim(ownClaim);
    let isStored = false;
    try {
      const result = await work(async (session, completed) => {
        const written = await entries.updateOne(
          ownClaim,
          { $set: { reply: toStored(present(completed)) } },
          { session },
        );
        // The claim expired and another run took over the key: the effect must not happen twice.
        if (written.matchedCount !== 1) throw runningError();
        isStored = true;
      });
      const reply = present(result);
      // This stores the reply for effects outside a transaction of this database.
      await entries.updateOne(ownClaim, { $set: { reply: toStored(reply) } }).catch((error: unknown) => {
        if (!isStored) throw outcomeUnknown('the reply under an idempotency key was not stored', error);
      });
      return reply;
    } catch (error) {
      if (!isOutcomeUnknown(error)) await releaseClaim(ownClaim, requestHash);
      throw error;
    } finally {
      stopRenewing();
    }
  };

  return {
    run: async (request, present, work) =>
      request.key === undefined
        ? present(await work(async () => undefined))
        : runWithKey({ ...request, key: request.key }, present, work),
    eraseAccount: async (session, userId, limit) => {
      const rows = await entries
        .find({ user_id: userId }, { projection: { _id: 1 }, limit, session })
        .toArray();
      const ids = rows.map(({ _id }) => _id);
      if (ids.length > 0) await entries.deleteMany({ _id: { $in: ids } }, { session });
      return ids.length;
    },
  };
};

/** The reply in the form in which it is sent, so a replay equals the first reply. */
const toStored = ({ status, body }: StoredReply): StoredReply => ({
  status,
  body: body === undefined ? null : JSON.parse(JSON.stringify(body)),
});
