import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import type { Dependencies } from '../dependencies.ts';

/** The presented session ends after so many seconds, unless it ends before. */
export const createLimitSession =
  ({ store, clock }: Pick<Dependencies, 'store' | 'clock'>) =>
  ({ userId, tokenId }: UserCaller, seconds: number): Promise<void> => {
    const end = new Date(clock.now().getTime() + seconds * SECOND_MS);
    return store.transaction((session) => store.tokens.endSessionAt(session, userId, tokenId, end));
  };
