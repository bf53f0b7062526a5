/**
 * `Idempotency-Key` (contract 1): kept 24 hours with its effect, for each user. The answer is stored in the very
 * transaction of the effect, so that a crash leaves either both or neither.
 */
import { createHash } from 'node:crypto';
import type { ClientSession, Connection } from 'mongoose';
import { z } from 'zod';
import { type Clock, DAY_MS, MINUTE_MS } from '../clock.ts';
import { AppError, invalid, message } from '../error.ts';
import { collectionPrivacy, erase } from '../mongo/privacy.ts';
import { isDuplicateKey } from '../mongo/transaction.ts';
import type { RouteReply } from './define-route.ts';
import type { KeyAgreement } from './key-agreement.ts';

const COLLECTION = 'idempotency_keys';
const KEPT_MS = DAY_MS;
/** A claim whose owner died is free again after this; longer than any request may take. */
const CLAIM_MS = MINUTE_MS;

interface Entry {
  _id: string;
  user_id: number;
  request_hash: string;
  claim: string;
  claimed_until: Date;
  reply: { status: number; body: unknown } | null;
  expires_at: Date;
}

collectionPrivacy<Entry>(
  COLLECTION,
  erase('stored answers; in any case gone after 24 hours', '_id', 'user_id', 'request_hash', 'claim'),
  erase('likewise', 'claimed_until', 'reply', 'expires_at'),
);

/** The header's schema: 1 to 255 visible characters. */
export const idempotencyKey = z.string().regex(/^[\x21-\x7e]{1,255}$/);

export interface IdempotentRun {
  /** Stores the answer in the transaction of the effect; call it last inside the transaction. */
  complete(session: ClientSession, reply: RouteReply): Promise<void>;
}

interface IdempotencyRequest {
  userId: number;
  /** Undefined: the request is simply run. */
  key: string | undefined;
  /** Method, path and body: another one under the same key is 422. */
  fingerprint: unknown;
}

export interface Idempotency {
  /**
   * Answers a repeated key with the stored reply, else runs. 422 under `idempotency_key` for another body, at another
   * service too, 409 while the first is running. A run that throws frees its key, so that the client may try again.
   */
  run(request: IdempotencyRequest, work: (run: IdempotentRun) => Promise<RouteReply>): Promise<RouteReply>;
  /** Drops the stored answers of an erased user, in the transaction of the erasure: they hold what was shown to him. */
  forgetUser(session: ClientSession, userId: number): Promise<void>;
}

export const createIdempotencyIndexes = async (connection: Connection): Promise<void> => {
  const collection = connection.collection(COLLECTION);
  await collection.createIndex({ expires_at: 1 }, { expireAfterSeconds: 0 });
  await collection.createIndex({ user_id: 1 });
};

const hashOf = (value: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(value) ?? '')
    .digest('hex');

/** How a client's key is stored, by this module and by whoever stores it besides: its words may be about a person. */
export const storedKey = (userId: number, key: string): string => hashOf([userId, key]);

const otherBody = (): AppError => invalid({ idempotency_key: message('idempotency.other_body') });

const running = (): AppError =>
  new AppError({ kind: 'conflict', code: 'idempotency.running', message: message('idempotency.running') });

export interface IdempotencyParts {
  connection: Connection;
  agreement: KeyAgreement;
  clock: Clock;
  uuid: () => string;
}

export const createIdempotency = ({ connection, agreement, clock, uuid }: IdempotencyParts): Idempotency => {
  const entries = connection.collection<Entry>(COLLECTION);

  /** Takes the key, or gives the reply that stands under it. */
  const claim = async (
    id: string,
    userId: number,
    requestHash: string,
    mine: string,
  ): Promise<RouteReply | undefined> => {
    const now = clock.now();
    const fresh = {
      user_id: userId,
      request_hash: requestHash,
      claim: mine,
      claimed_until: new Date(now.getTime() + CLAIM_MS),
      reply: null,
      expires_at: new Date(now.getTime() + KEPT_MS),
    };
    try {
      await entries.insertOne({ _id: id, ...fresh });
      return undefined;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
    const found = await entries.findOne({ _id: id });
    if (found === null) throw running();
    if (found.expires_at <= now) {
      const taken = await entries.updateOne(
        { _id: id, claim: found.claim, expires_at: found.expires_at },
        { $set: fresh },
      );
      if (taken.matchedCount === 1) return undefined;
      throw running();
    }
    if (found.request_hash !== requestHash) throw otherBody();
    if (found.reply !== null) return found.reply;
    if (found.claimed_until > now) throw running();
    const taken = await entries.updateOne({ _id: id, claim: found.claim, reply: null }, { $set: fresh });
    if (taken.matchedCount === 1) return undefined;
    throw running();
  };

  const runWithKey = async (
    request: IdempotencyRequest & { key: string },
    work: (run: IdempotentRun) => Promise<RouteReply>,
  ): Promise<RouteReply> => {
    const id = storedKey(request.userId, request.key);
    const mine = uuid();
    const requestHash = hashOf(request.fingerprint);
    if (!(await agreement.standsFor(id, requestHash, KEPT_MS))) throw otherBody();
    const stored = await claim(id, request.userId, requestHash, mine);
    if (stored !== undefined) return stored;
    try {
      const reply = await work({
        complete: async (session, { status, body }) => {
          const held = { _id: id, claim: mine, reply: null };
          const done = await entries.updateOne(
            held,
            { $set: { reply: { status, body: plain(body) } } },
            { session },
          );
          // Somebody took the key over because this run took too long: its effect must not be booked twice.
          if (done.matchedCount !== 1) throw running();
        },
      });
      // For an effect that is not in a transaction of this database.
      await entries.updateOne(
        { _id: id, claim: mine, reply: null },
        { $set: { reply: { status: reply.status, body: plain(reply.body) } } },
      );
      return reply;
    } catch (error) {
      const freed = await entries.deleteOne({ _id: id, claim: mine, reply: null }).catch(() => undefined);
      if (freed?.deletedCount === 1) await agreement.release(id, requestHash);
      throw error;
    }
  };

  return {
    run: (request, work) =>
      request.key === undefined
        ? work({ complete: async () => undefined })
        : runWithKey({ ...request, key: request.key }, work),
    forgetUser: async (session, userId) => {
      await entries.deleteMany({ user_id: userId }, { session });
    },
  };
};

/** As it will be sent: a stored answer must not differ from the first one. */
const plain = (body: unknown): unknown => (body === undefined ? null : JSON.parse(JSON.stringify(body)));
