/** Tells the gateways that credentials are revoked, before the answer to the revocation (docs/adr/0002). */
import {
  EPOCH_LIFETIME_S,
  type EpochSubject,
  epochKey,
  RECORD_LIFETIME_MS,
  REVOKING,
  REVOKING_LIFETIME_S,
} from '@fitness/contracts/credential-epochs.ts';
import type { Random } from '@fitness/shared/kernel/clock.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';
import { finishesWithin, sleep } from '@fitness/shared/kernel/timing.ts';
import type { Redis } from '@fitness/shared/runtime/redis.ts';

export interface CredentialEpochs {
  /**
   * Before the commit: from now on nothing is recorded of these subjects. If this process dies after the commit, it stays
   * so. Never rejects, because Redis may be down.
   */
  close(subjects: Iterable<EpochSubject>): Promise<void>;
  /**
   * After the commit: resolves when Redis has acknowledged that no earlier record counts, or without an acknowledgement
   * when every such record has expired, about five seconds later. Never rejects.
   */
  advance(subjects: Iterable<EpochSubject>): Promise<void>;
}

export interface EpochStore {
  /** Of the Redis and the namespace where this process advances the epochs. Undefined while it is not known. */
  storeId(): string | undefined;
}

/** The transaction is open meanwhile. */
const CLOSE_TIMEOUT_MS = 200;
const ADVANCE_TIMEOUT_MS = 500;
const RETRY_DELAY_MS = 100;
/** For clocks of different speed, and for the end of a record that is read at its last moment. */
const MARGIN_MS = 250;
/** For an id that was lost while the connection stayed open. */
const STORE_ID_INTERVAL_MS = 1_000;

export const createCredentialEpochs = ({
  redis,
  namespace,
  random,
  log,
}: {
  redis: Redis;
  namespace: string;
  random: Random;
  log: Logger;
}): CredentialEpochs & EpochStore => {
  /** Whether Redis has acknowledged it in time. */
  const set = async (
    subjects: Iterable<EpochSubject>,
    value: () => string,
    lifetimeS: number,
    timeoutMs: number,
  ): Promise<boolean> => {
    const sent = [...subjects].map((subject) =>
      redis.set(epochKey(namespace, subject), value(), 'EX', lifetimeS),
    );
    return finishesWithin(Promise.all(sent), timeoutMs).catch(() => false);
  };

  let storeId: string | undefined;
  let askedAt = Number.NEGATIVE_INFINITY;
  // The next connection may lead elsewhere.
  redis.on('close', () => {
    storeId = undefined;
  });
  const readStoreId = async (): Promise<void> => {
    askedAt = performance.now();
    const created = random.uuid();
    storeId = (await redis.set(epochKey(namespace, 'store'), created, 'NX', 'GET')) ?? created;
  };

  return {
    storeId: () => {
      if (performance.now() - askedAt >= STORE_ID_INTERVAL_MS) readStoreId().catch(() => undefined);
      return storeId;
    },

    close: async (subjects) => {
      await set(subjects, () => REVOKING, REVOKING_LIFETIME_S, CLOSE_TIMEOUT_MS);
    },

    advance: async (subjects) => {
      const giveUpAt = performance.now() + RECORD_LIFETIME_MS + MARGIN_MS;
      for (let isLogged = false; ; isLogged = true) {
        const leftMs = giveUpAt - performance.now();
        // Each attempt has a value of its own: one that arrives late must not bring an earlier epoch back.
        const isDone = await set(
          subjects,
          random.uuid,
          EPOCH_LIFETIME_S,
          Math.min(ADVANCE_TIMEOUT_MS, leftMs),
        );
        if (isDone) return;
        if (!isLogged) log.warn('Redis does not take a revocation; waiting until no gateway remembers');
        const waitMs = giveUpAt - performance.now();
        if (waitMs <= 0) return;
        await sleep(Math.min(RETRY_DELAY_MS, waitMs));
        if (performance.now() >= giveUpAt) return;
      }
    },
  };
};
