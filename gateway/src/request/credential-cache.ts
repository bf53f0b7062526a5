/**
 * Remembers introspections without a window of error (docs/adr/0002): a record counts only while the epochs of its user and of
 * the roles, read from Redis for each request, are those that were read before identity was asked.
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

interface Known {
  /** The user of a token is always the same. */
  userId: number;
  record?: {
    /** The same object for every request, as long as the record counts. */
    caller: UserCaller;
    stamp: Stamp;
    /** By the monotonic clock. */
    expiresAt: number;
  };
}

interface CacheOptions {
  introspect: Introspect;
  epochs: CredentialEpochs;
  /**
   * `hit`: identity was not asked. `unavailable`: there was no epoch. `mismatch`: identity advances the epochs elsewhere, so
   * that nothing was kept.
   */
  counter: CounterMetric<'outcome'>;
  log: Logger;
  /** A clock that never goes back, in milliseconds. */
  monotonicMs?: () => number;
  maxTokens?: number;
}

/** About 10 MiB. */
const MAX_TOKENS = 20_000;
/** A Redis that has lost its data has a new id, which identity knows a second after it is asked. */
const MISMATCH_REPORT_AFTER_MS = 10_000;
const MISMATCH_REPORT_INTERVAL_MS = 60_000;

/** Logs that identity advances the epochs elsewhere, when this lasts. */
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
      'identity uses another Redis or namespace than this gateway, which therefore asks it for each request: REDIS_URL of both must lead to the same server, and EVENTS_NAMESPACE must be the same',
    );
  };
};

/** As the introspection of the token at the time of the call, or later. */
export const createCredentialCache = ({
  introspect,
  epochs,
  counter,
  log,
  monotonicMs = () => performance.now(),
  maxTokens = MAX_TOKENS,
}: CacheOptions): ((token: string) => Promise<UserCaller>) => {
  const tokens = new LRUCache<string, Known>({ max: maxTokens });
  const reportMismatch = createMismatchReport(log, monotonicMs);

  /**
   * Asks identity. With a stamp, which was read before and after `startedAt`, the answer is kept if identity advances the
   * epochs where the stamp was read.
   */
  const ask = async (
    token: string,
    key: string,
    outcome: 'miss' | 'unavailable',
    fresh?: { known: Known; stamp: Stamp; startedAt: number },
  ): Promise<UserCaller> => {
    let isElsewhere = false;
    try {
      const { caller, validForMs, epochStoreId } = await introspect(token);
      if (fresh?.stamp.storeId === epochStoreId) {
        const { known, stamp, startedAt } = fresh;
        known.record = { caller, stamp, expiresAt: startedAt + Math.min(RECORD_LIFETIME_MS, validForMs) };
      } else if (fresh !== undefined && epochStoreId !== '') {
        isElsewhere = true;
        reportMismatch(fresh.stamp);
      }
      tokens.set(key, fresh?.known ?? tokens.get(key) ?? { userId: caller.userId });
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
    const known = tokens.get(key);
    if (known === undefined) return ask(token, key, 'miss');
    const startedAt = monotonicMs();
    const stamp = await epochs.read(known.userId);
    if (stamp === undefined) return ask(token, key, 'unavailable');
    const { record } = known;
    if (record?.stamp.text === stamp.text && monotonicMs() < record.expiresAt) {
      counter.inc({ outcome: 'hit' });
      return record.caller;
    }
    return ask(token, key, 'miss', { known, stamp, startedAt });
  };
};
