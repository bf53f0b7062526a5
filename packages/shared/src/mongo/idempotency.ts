/**
 * Implements `Idempotency-Key`, per user and for 24 hours. The reply is stored in the transaction of the effect,
 * so a crash leaves both or neither.
 */
import { createHash } from 'node:crypto';
import type { ClientSession } from 'mongoose';
import { outcomeUnknown } from '../kernel/error.ts';
import {
  type ClaimOptions,
  createClaims,
  entriesOf,
  otherRequestError,
  runningError,
  type StoredReply,
  TTL_MS,
} from './idempotency-claims.ts';
import { isOutcomeUnknown } from './transaction.ts';

/**
 * Stores the reply for `result` in the transaction of the effect. A use case calls it last inside its
 * transaction. Throws `idempotency.running` if another run has taken over the key.
 */
export type Complete<Result> = (session: ClientSession, result: Result) => Promise<void>;

interface IdempotencyRequest {
  userId: number;
  /** Undefined: the work runs without a key. */
  key: string | undefined;
  /**
   * Method, path and body. A request that differs in one of them under the same key returns 422. A field that is null is treated as absent,
   * so a route that distinguishes them must not use a key.
   */
  fingerprint: unknown;
}

export interface Idempotency {
  /**
   * Returns the stored reply for a repeated key, byte for byte. Otherwise runs `work` and passes its result to
   * `present`. Throws 422 for the field `idempotency_key` if the fingerprint differs (in any service), and 409
   * during the first run. If the process of the first run dies, a repeat takes over the key once the claim has
   * expired. A run that throws releases its key, unless its outcome is unknown. The key then stays with this
   * request, and a repeat takes it over. `present` must not make remote calls.
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

const hashOf = (value: unknown, replacer?: (key: string, value: unknown) => unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(value, replacer) ?? '')
    .digest('hex');

/** The stored form of a client's key: hashed, because its text may contain personal data. */
export const storedKey = (userId: number, key: string): string => hashOf([userId, key]);

export interface IdempotencyOptions extends ClaimOptions {
  uuid: () => string;
}

export const createIdempotency = (options: IdempotencyOptions): Idempotency => {
  const { connection, crossServiceCheck, uuid } = options;
  const { claim, keepClaim, releaseClaim } = createClaims(options);
  const entries = entriesOf(connection);

  const runWithKey = async <Result, Reply extends StoredReply>(
    request: IdempotencyRequest & { key: string },
    present: (result: Result) => Reply,
    work: (complete: Complete<Result>) => Promise<Result>,
  ): Promise<Reply> => {
    const id = storedKey(request.userId, request.key);
    const claimId = uuid();
    const requestHash = hashOf(request.fingerprint, (_, value) => value ?? undefined);
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
