import type { SessionPage, UserCaller } from '@fitness/shared/kernel/caller.ts';
import { SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import type { Dependencies } from '../../dependencies.ts';

interface Limit {
  /** Counted from the first call. */
  seconds: number;
  /** Counted from the last call. */
  idleSeconds: number;
  /** The page whose cookie contains the session. */
  page: SessionPage | undefined;
}

/**
 * Limits the lifetime of the presented session, unless it ends earlier, and its calls to the routes of `page`. Only calls to
 * this use case extend an idle session.
 */
export const createLimitSession =
  ({ store, clock }: Dependencies) =>
  ({ userId, tokenId }: UserCaller, { seconds, idleSeconds, page }: Limit): Promise<void> => {
    const now = clock.now();
    const after = (duration: number): Date => new Date(now.getTime() + duration * SECOND_MS);
    const times = { now, end: after(seconds), idleEnd: after(idleSeconds), page };
    return store.transaction((session) => store.tokens.limitSession(session, userId, tokenId, times));
  };
