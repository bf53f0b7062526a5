/**
 * The audit log of one service: actions of operators, stored in the transaction of the effect, append-only and hash-chained
 * (ADR 56). Personal values are encrypted; see values.ts.
 */
import type { ClientSession, Connection } from 'mongoose';
import { type Clock, formatTimestamp, MINUTE_MS, type Random } from '../kernel/clock.ts';
import type { Logger } from '../kernel/log.ts';
import { jitteredDelayMs, sleep } from '../kernel/timing.ts';
import { currentTrace } from '../kernel/trace.ts';
import { trusted } from '../mongo/connect.ts';
import type { IsPersonal } from '../mongo/privacy.ts';
import { createSealer } from '../mongo/sealer.ts';
import { createSeals } from '../mongo/seals.ts';
import { AUDIT_SEQUENCES, createSequences } from '../mongo/sequence.ts';
import { afterCommit, inTransaction, isDuplicateKey, isWriteConflict } from '../mongo/transaction.ts';
import type { AuditAction, AuditSubject, AuditValues } from './actions.ts';
import {
  type AuditContent,
  type AuditKeyDocument,
  type AuditModels,
  auditHash,
  auditId,
  isAuditEntryIntact,
  registerAuditModels,
  type SealedAuditEntry,
  toSealed,
} from './models.ts';
import { type AuditEntry, type AuditFilter, createAuditReader } from './reader.ts';
import { encryptValue, KEY_BYTES, type StoredField } from './values.ts';

/** The subject's state before or after the action. */
export interface AuditState {
  values: AuditValues;
  /** The account that the personal values belong to. If null, the values are stored unencrypted. */
  personId: number | null;
}

export interface AuditRecord {
  /** Null for a command that was run on the servers. */
  actorId: number | null;
  action: AuditAction;
  subject: { type: AuditSubject; id: number | null };
  before?: AuditState;
  after?: AuditState;
  /** Default: no field is personal. */
  isPersonal?: IsPersonal;
  /** The request of the actor. Default: the current one. It differs if a later step completes the request. */
  requestId?: string | null;
}

export interface AuditLog {
  /** Adds an entry to the transaction of `session`: both commit or neither. Throws when `session` is not from `inTransaction`. */
  record(session: ClientSession, entry: AuditRecord): Promise<void>;
  /** Entries with an id below `beforeId`, newest first: at most `limit`, or fewer if they are large. */
  list(
    filter: AuditFilter,
    page: { beforeId: number | undefined; limit: number },
  ): Promise<{ entries: AuditEntry[]; hasMore: boolean }>;
  count(filter: AuditFilter): Promise<number>;
  /** Destroys the key of the person. The account gets no new one. */
  eraseAccount(session: ClientSession, userId: number): Promise<void>;
  /** One round of sealing; returns the number of sealed entries. */
  seal(): Promise<number>;
  /** Like `seal`, but does nothing while no entry can be waiting. */
  sealIfNeeded(): Promise<unknown>;
}

export interface AuditLogOptions {
  connection: Connection;
  /** The service of this database. */
  service: string;
  clock: Clock;
  random: Random;
  log: Logger;
  /** Interval between searches for entries of other processes. Default: {@link SEAL_ALL_MS}. */
  sealAllMs?: number | undefined;
  /** Maximum number of entries per seal. The sealer has a default. */
  batch?: number | undefined;
}

/** Entries of a replica that died, and of commands, are sealed by another process after this. */
const SEAL_ALL_MS = MINUTE_MS;
const KEY_ATTEMPTS = 50;
const LONGEST_KEY_DELAY_MS = 50;
/** Two rounds, because a replica that has not seen the entry yet may win the first one. */
const ROUNDS_AFTER_COMMIT = 2;

export const createAuditLog = ({
  connection,
  service,
  clock,
  random,
  log,
  sealAllMs = SEAL_ALL_MS,
  batch,
}: AuditLogOptions): AuditLog => {
  const models = registerAuditModels(connection);
  const sequences = createSequences(connection, AUDIT_SEQUENCES);
  const reader = createAuditReader(models, service);
  const findOrMakeKey = createKeys(models, random);
  const seal = createAuditSealer(connection, models, { service, clock, log, batch });
  const rounds = createRounds(seal, sealAllMs);

  const toStored = async (
    place: string,
    state: AuditState | undefined,
    isPersonal: IsPersonal,
    keyOf: KeyOf,
  ): Promise<string | null> => {
    if (state === undefined) return null;
    const fields: StoredField[] = [];
    for (const [field, plain] of Object.entries(state.values)) {
      const value = withTimestamps(plain);
      if (state.personId === null || value == null || !isPersonal(field)) {
        fields.push({ field, value: value ?? null });
        continue;
      }
      const key = await keyOf(state.personId);
      const data = key === null ? null : encryptValue(key, `${place}.${field}`, value, random);
      fields.push({ field, person: state.personId, data });
    }
    return JSON.stringify(fields);
  };

  return {
    record: async (
      session,
      { actorId, action, subject, before, after, isPersonal = () => false, requestId },
    ): Promise<void> => {
      const keyOf = onceForEach(findOrMakeKey);
      const at = clock.now();
      const _id = auditId(service, at, await sequences.next('audit'));
      const content: AuditContent = {
        _id,
        service,
        at,
        actor_id: actorId,
        action,
        subject_type: subject.type,
        subject_id: subject.id,
        request_id: requestId === undefined ? (currentTrace()?.requestId ?? null) : requestId,
        before: await toStored(`${_id}.before`, before, isPersonal, keyOf),
        after: await toStored(`${_id}.after`, after, isPersonal, keyOf),
      };
      await models.entries.create([{ ...content, hash: auditHash(content), seal: null }], { session });
      afterCommit(session, rounds.request);
    },
    ...reader,
    eraseAccount: async (session, userId) => {
      await models.keys.updateOne({ _id: userId }, { $set: { key: null } }, { session, upsert: true });
    },
    seal,
    sealIfNeeded: rounds.runIfNeeded,
  };
};

const createRounds = (seal: () => Promise<number>, sealAllMs: number) => {
  let due = 0;
  let sealedAt = performance.now();
  const request = (): void => {
    due = ROUNDS_AFTER_COMMIT;
  };
  return {
    /** Requests sealing after the commit of an entry. */
    request,
    runIfNeeded: async (): Promise<void> => {
      const now = performance.now();
      if (due === 0 && now < sealedAt + sealAllMs) return;
      due = Math.max(0, due - 1);
      sealedAt = now;
      await seal().catch((error: unknown) => {
        request();
        throw error;
      });
    },
  };
};

type KeyOf = (userId: number) => Promise<Buffer | null>;

/** The personal values of an entry have the keys of one or two people. */
const onceForEach = (keyOf: KeyOf): KeyOf => {
  const keys = new Map<number, Promise<Buffer | null>>();
  return (userId) => {
    const key = keys.get(userId) ?? keyOf(userId);
    keys.set(userId, key);
    return key;
  };
};

/**
 * The key of a person, made at its first use; null when the account is erased. It is made outside the caller's transaction, to
 * avoid conflicts between operators. If an erasure destroys the key meanwhile, values encrypted under it cannot be read.
 */
const createKeys =
  ({ keys }: AuditModels, random: Pick<Random, 'bytes'>): KeyOf =>
  async (userId) => {
    for (let attempt = 1; ; attempt += 1) {
      const stored = await keys.findById(userId).lean<AuditKeyDocument>();
      if (stored !== null) return toKey(stored);
      const made = { _id: userId, key: random.bytes(KEY_BYTES).toString('base64') };
      try {
        // This bypasses mongoose: if the response is lost, a repeat finds the key, and nothing is in doubt.
        await keys.collection.insertOne(made as never, { writeConcern: { w: 'majority' } });
        return toKey(made);
      } catch (error) {
        // Another operator was first, or an erasure is running.
        if ((!isDuplicateKey(error) && !isWriteConflict(error)) || attempt >= KEY_ATTEMPTS) throw error;
        await sleep(jitteredDelayMs(attempt, 1, LONGEST_KEY_DELAY_MS));
      }
    }
  };

/** Times in the form that clients know (contract, section 1), including those inside lists and documents. */
const withTimestamps = (value: unknown): unknown => {
  if (value instanceof Date) return formatTimestamp(value);
  if (Array.isArray(value)) return value.map(withTimestamps);
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withTimestamps(inner)]));
};

const toKey = ({ key }: AuditKeyDocument): Buffer | null =>
  key === null ? null : Buffer.from(key, 'base64');

const createAuditSealer = (
  connection: Connection,
  { entries, seals }: AuditModels,
  { service, clock, log, batch }: Pick<AuditLogOptions, 'service' | 'clock' | 'log' | 'batch'>,
): (() => Promise<number>) => {
  const stored = createSeals(seals);
  const round = createSealer<SealedAuditEntry>({
    name: `the audit log of ${service}`,
    seals: stored,
    clock,
    log,
    batch,
    records: {
      unsealed: async (limit) => (await entries.find({ seal: null }).limit(limit).lean()).map(toSealed),
      findMany: async (keys) =>
        (await entries.find({ _id: trusted({ $in: keys.map(Number) }) }).lean()).map(toSealed),
      isIntact: isAuditEntryIntact,
      mark: async ({ number, leaves }) => {
        const ids = leaves.map(({ key }) => Number(key));
        await inTransaction(connection, (session) =>
          entries.updateMany(
            { _id: trusted({ $in: ids }), seal: null },
            { $set: { seal: number } },
            { session },
          ),
        );
      },
    },
  });
  let isPrepared = false;
  return async () => {
    // This is not done at the start, when a service needs no second database.
    if (!isPrepared) await stored.prepare();
    isPrepared = true;
    return round();
  };
};
