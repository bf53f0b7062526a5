/** Notifies the gateways of revoked credentials before the response to the revocation (docs/adr/0002). */
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
   * To call before the commit. Gateways record nothing about these subjects from now on, even if this process dies after
   * the commit. Never rejects, because Redis may be down.
   */
  close(subjects: Iterable<EpochSubject>): Promise<void>;
  /**
   * To call after the commit. Resolves when Redis has acknowledged that earlier records are invalid. Without an
   * acknowledgement it resolves when every such record has expired, about five seconds later. Never rejects.
   */
  advance(subjects: Iterable<EpochSubject>): Promise<void>;
}

export interface EpochStore {
  /** Identifies the Redis server and namespace in which this process advances epochs. Undefined while unknown. */
  storeId(): string | undefined;
}

/** Short, because the transaction is open meanwhile. */
const CLOSE_TIMEOUT_MS = 200;
const ADVANCE_TIMEOUT_MS = 500;
const RETRY_DELAY_MS = 100;
/**
 * Without an acknowledgement of Redis, a revocation waits until every record has expired. The margin allows for clocks of
 * different speed, and for a record that is read just before it expires.
 */
export const REVOCATION_WAIT_MS = RECORD_LIFETIME_MS + 250;
/** How often the id is read again, in case it was lost while the connection stayed open. */
const STORE_ID_INTERVAL_MS = 1_000;

export const createCredentialEpochs = ({
  redis,
  namespace,
  random,
  log,
  waitMs = REVOCATION_WAIT_MS,
}: {
  redis: Redis;
  namespace: string;
  random: Random;
  log: Logger;
  waitMs?: number | undefined;
}): CredentialEpochs & EpochStore => {
  /** Returns whether Redis has acknowledged it in time. */
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
  let readAt = Number.NEGATIVE_INFINITY;
  // The next connection may be to another server.
  redis.on('close', () => {
    storeId = undefined;
  });
  const readStoreId = async (): Promise<void> => {
    readAt = performance.now();
    const created = random.uuid();
    storeId = (await redis.set(epochKey(namespace, 'store'), created, 'NX', 'GET')) ?? created;
  };

  return {
    storeId: () => {
      if (performance.now() - readAt >= STORE_ID_INTERVAL_MS) readStoreId().catch(() => undefined);
      return storeId;
    },

    close: async (subjects) => {
      await set(subjects, () => REVOKING, REVOKING_LIFETIME_S, CLOSE_TIMEOUT_MS);
    },

    advance: async (subjects) => {
      const giveUpAt = performance.now() + waitMs;
      for (let isLogged = false; ; isLogged = true) {
        const leftMs = giveUpAt - performance.now();
        // Each attempt writes a different value: a late one must not restore an earlier epoch.
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
