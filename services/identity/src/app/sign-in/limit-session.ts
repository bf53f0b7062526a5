import type { SessionPage, UserCaller } from '@fitness/shared/kernel/caller.ts';
import { SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import type { Dependencies } from '../../dependencies.ts';

interface Limit {
  /** From the first call on. */
  seconds: number;
  /** From the last call on. */
  idleSeconds: number;
  /** The page whose cookie the session is. */
  page: SessionPage | undefined;
}

/** The presented session ends after so many seconds, unless it ends before, and may call what `page` calls. Nothing else that it is used for counts as a use. */
export const createLimitSession =
  ({ store, clock }: Pick<Dependencies, 'store' | 'clock'>) =>
  ({ userId, tokenId }: UserCaller, { seconds, idleSeconds, page }: Limit): Promise<void> => {
    const now = clock.now();
    const after = (duration: number): Date => new Date(now.getTime() + duration * SECOND_MS);
    const times = { now, end: after(seconds), idleEnd: after(idleSeconds), page };
    return store.transaction((session) => store.tokens.limitSession(session, userId, tokenId, times));
  };
