/**
 * Caches introspections, but never accepts a revoked token (docs/adr/0002). Each request reads the epochs of the
 * user and the roles from Redis. A cached record is valid only while these equal the epochs that were read before
 * its introspection.
 */
import { hash } from 'node:crypto';
import { RECORD_LIFETIME_MS } from '@fitness/contracts/credential-epochs.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { isAppError } from '@fitness/shared/kernel/error.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';
import type { CounterMetric } from '@fitness/shared/kernel/metrics.ts';
import { LRUCache } from 'lru-cache';
import type { CredentialEpochs, Stamp } from './credential-epochs.ts';
import type { Introspect } from './introspect.ts';

interface CachedToken {
  /** The user of a token is always the same. */
  userId: number;
  record?: {
    /** The same object for every request, as long as the record is valid. */
    caller: UserCaller;
    stamp: Stamp;
    /** In milliseconds of the monotonic clock. */
    expiresAt: number;
  };
}

interface CacheOptions {
  introspect: Introspect;
  epochs: CredentialEpochs;
  /**
   * `hit`: identity was not called. `unavailable`: the epochs could not be read. `mismatch`: identity advances the epochs
   * elsewhere, so nothing was cached.
   */
  counter: CounterMetric<'outcome'>;
  log: Logger;
  /** A monotonic clock, in milliseconds. */
  monotonicMs?: () => number;
  maxTokens?: number;
}

/** About 10 MiB. */
const MAX_TOKENS = 20_000;
/** A Redis server that has lost its data has a new id, and identity needs a second to notice it. */
const MISMATCH_REPORT_AFTER_MS = 10_000;
const MISMATCH_REPORT_INTERVAL_MS = 60_000;

/** Logs a lasting mismatch, in which identity advances the epochs in another store. */
const createMismatchReport = (log: Logger, monotonicMs: () => number): ((stamp: Stamp) => void) => {
  let own = '';
  let reportAt = 0;
  return ({ storeId }) => {
    const now = monotonicMs();
    if (storeId !== own) {
      own = storeId;
      reportAt = now + MISMATCH_REPORT_AFTER_MS;
    }
    if (now < reportAt) return;
    reportAt = now + MISMATCH_REPORT_INTERVAL_MS;
    log.error(
      'identity uses another Redis or namespace than this gateway, which therefore calls it for each request: REDIS_URL of both must lead to the same server, and EVENTS_NAMESPACE must be the same',
    );
  };
};

/** Returns a function that resolves with what `introspect` would return at the time of the call, or later. */
export const createCredentialCache = ({
  introspect,
  epochs,
  counter,
  log,
  monotonicMs = () => performance.now(),
  maxTokens = MAX_TOKENS,
}: CacheOptions): ((token: string) => Promise<UserCaller>) => {
  const tokens = new LRUCache<string, CachedToken>({ max: maxTokens });
  const reportMismatch = createMismatchReport(log, monotonicMs);

  /**
   * Calls identity. The response is cached if `fresh` has a stamp, read after `startedAt`, and identity advances the
   * epochs in the same store.
   */
  const introspectAndCache = async (
    token: string,
    key: string,
    outcome: 'miss' | 'unavailable',
    fresh?: { cached: CachedToken; stamp: Stamp; startedAt: number },
  ): Promise<UserCaller> => {
    let isElsewhere = false;
    try {
      const { caller, validForMs, epochStoreId } = await introspect(token);
      if (fresh?.stamp.storeId === epochStoreId) {
        const { cached, stamp, startedAt } = fresh;
        cached.record = { caller, stamp, expiresAt: startedAt + Math.min(RECORD_LIFETIME_MS, validForMs) };
      } else if (fresh !== undefined && epochStoreId !== '') {
        isElsewhere = true;
        reportMismatch(fresh.stamp);
      }
      tokens.set(key, fresh?.cached ?? tokens.get(key) ?? { userId: caller.userId });
      return caller;
    } catch (error) {
      if (isAppError(error) && error.kind === 'unauthenticated') tokens.delete(key);
      throw error;
    } finally {
      counter.inc({ outcome: isElsewhere ? 'mismatch' : outcome });
    }
  };

  return async (token) => {
    const key = hash('sha256', token);
    const cached = tokens.get(key);
    if (cached === undefined) return introspectAndCache(token, key, 'miss');
    const startedAt = monotonicMs();
    const stamp = await epochs.read(cached.userId);
    if (stamp === undefined) return introspectAndCache(token, key, 'unavailable');
    const { record } = cached;
    if (record?.stamp.text === stamp.text && monotonicMs() < record.expiresAt) {
      counter.inc({ outcome: 'hit' });
      return record.caller;
    }
    return introspectAndCache(token, key, 'miss', { cached, stamp, startedAt });
  };
};
