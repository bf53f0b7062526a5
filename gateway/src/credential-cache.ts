/**
 * Remembers introspections without a window of error (docs/adr/0070): a record counts only while the epochs of its user and of
 * the roles, read from Redis for each request, are those that were read before identity was asked.
 */
import { hash } from 'node:crypto';
import { RECORD_LIFETIME_MS } from '@fitness/contracts/credential-epochs.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { isAppError } from '@fitness/shared/kernel/error.ts';
import type { CounterMetric } from '@fitness/shared/kernel/metrics.ts';
import { LRUCache } from 'lru-cache';
import type { CredentialEpochs } from './credential-epochs.ts';
import type { Introspect } from './introspect.ts';

interface Known {
  /** The user of a token is always the same. */
  userId: number;
  record?: {
    /** The same object for every request, as long as the record counts. */
    caller: UserCaller;
    stamp: string;
    /** By the monotonic clock. */
    expiresAt: number;
  };
}

interface CacheOptions {
  introspect: Introspect;
  epochs: CredentialEpochs;
  /** `hit`: identity was not asked. `unavailable`: there was no epoch. */
  counter: CounterMetric<'outcome'>;
  /** A clock that never goes back, in milliseconds. */
  monotonicMs?: () => number;
  maxTokens?: number;
}

/** About 10 MiB. */
const MAX_TOKENS = 20_000;

/** As the introspection of the token at the time of the call, or later. */
export const createCredentialCache = ({
  introspect,
  epochs,
  counter,
  monotonicMs = () => performance.now(),
  maxTokens = MAX_TOKENS,
}: CacheOptions): ((token: string) => Promise<UserCaller>) => {
  const tokens = new LRUCache<string, Known>({ max: maxTokens });

  /** Asks identity. With a stamp, which was read before and after `startedAt`, the answer is kept. */
  const ask = async (
    token: string,
    key: string,
    fresh?: { known: Known; stamp: string; startedAt: number },
  ): Promise<UserCaller> => {
    try {
      const { caller, validForMs } = await introspect(token);
      if (fresh !== undefined) {
        const { known, stamp, startedAt } = fresh;
        known.record = { caller, stamp, expiresAt: startedAt + Math.min(RECORD_LIFETIME_MS, validForMs) };
      }
      tokens.set(key, fresh?.known ?? tokens.get(key) ?? { userId: caller.userId });
      return caller;
    } catch (error) {
      if (isAppError(error) && error.kind === 'unauthenticated') tokens.delete(key);
      throw error;
    }
  };

  return async (token) => {
    const key = hash('sha256', token);
    const known = tokens.get(key);
    if (known === undefined) {
      counter.inc({ outcome: 'miss' });
      return ask(token, key);
    }
    const startedAt = monotonicMs();
    const stamp = await epochs.read(known.userId);
    if (stamp === undefined) {
      counter.inc({ outcome: 'unavailable' });
      return ask(token, key);
    }
    const { record } = known;
    if (record?.stamp === stamp && monotonicMs() < record.expiresAt) {
      counter.inc({ outcome: 'hit' });
      return record.caller;
    }
    counter.inc({ outcome: 'miss' });
    return ask(token, key, { known, stamp, startedAt });
  };
};
