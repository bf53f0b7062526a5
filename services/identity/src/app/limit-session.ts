import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import type { Dependencies } from '../dependencies.ts';

interface Limit {
  /** From the first call on. */
  seconds: number;
  /** From the last call on. */
  idleSeconds: number;
}

/** The presented session ends after so many seconds, unless it ends before. Nothing else that it is used for counts as a use. */
export const createLimitSession =
  ({ store, clock }: Pick<Dependencies, 'store' | 'clock'>) =>
  ({ userId, tokenId }: UserCaller, { seconds, idleSeconds }: Limit): Promise<void> => {
    const now = clock.now();
    const after = (duration: number): Date => new Date(now.getTime() + duration * SECOND_MS);
    const times = { now, end: after(seconds), idleEnd: after(idleSeconds) };
    return store.transaction((session) => store.tokens.limitSession(session, userId, tokenId, times));
  };
