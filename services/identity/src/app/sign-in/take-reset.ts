import { type RateLimit, rateLimited } from '@fitness/shared/kernel/rate-limit.ts';
import type { Dependencies } from '../../dependencies.ts';
import { userLimitKey } from '../../domain/limit-keys.ts';

/** Counts a request or attempt of a password reset. */
export interface TakeReset {
  /** With a token of the account: as its deletion, 429. */
  ofOwner(userId: number): Promise<void>;
  /** An anonymous one, before anything else is done for the caller; false when a limit is reached. */
  ofAddress(address: string): Promise<boolean>;
  /** `isCounted`: by `ofOwner` already. */
  ofAccount(account: string, address: string, isCounted: boolean): Promise<boolean>;
}

/**
 * Longer than the window of `accountCodes` by more than the time limit of a Redis command: between two calls that the
 * same slot counts there is always a whole window.
 */
const SLOT_S = 65;

export const createTakeReset = ({ limiter, limits }: Pick<Dependencies, 'limiter' | 'limits'>): TakeReset => {
  const slot: RateLimit = { name: 'anonymous-codes', points: 1, windowS: SLOT_S };

  /** A few of the anonymous calls count, so that strangers cannot spend the budget of the owner. */
  const takeSlot = async (account: string): Promise<boolean> => {
    for (let number = 1; number <= limits.countedAnonymousCodes; number += 1) {
      if ((await limiter.consume(slot, `${account}:${number}`)).allowed) return true;
    }
    return false;
  };

  const isWithin = async (limit: RateLimit, key: string): Promise<boolean> =>
    (await limiter.consume(limit, key)).allowed;

  return {
    ofOwner: async (userId) => {
      const state = await limiter.consume(limits.accountCodes, userLimitKey(userId));
      if (!state.allowed) throw rateLimited(state);
    },
    ofAddress: (address) => isWithin(limits.resetsPerAddress, address),
    ofAccount: async (account, address, isCounted) => {
      // A call that a narrower limit refuses does not count for a wider one: one address cannot spend the account's.
      if (!(await isWithin(limits.resetsPerAccountAndAddress, `${account}:${address}`))) return false;
      if (!(await isWithin(limits.resetsPerAccount, account))) return false;
      // The same number of calls for one that is counted already: the response time does not tell whose account it is.
      const state =
        (await takeSlot(account)) && !isCounted
          ? await limiter.consume(limits.accountCodes, account)
          : await limiter.peek(limits.accountCodes, account);
      return isCounted || state.allowed;
    },
  };
};
