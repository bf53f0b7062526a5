import { type RateLimit, rateLimited } from '@fitness/shared/kernel/rate-limit.ts';
import type { Dependencies } from '../../dependencies.ts';
import { userLimitKey } from '../../domain/limit-keys.ts';

/** Counts a request for, or an attempt at, a password reset. */
export interface TakeReset {
  /** Counts a call with a token of the account. Shares the limit of its deletion, and throws 429 when it is reached. */
  ofOwner(userId: number): Promise<void>;
  /** Counts an anonymous call before anything else is done for the caller. False when a limit is reached. */
  ofAddress(address: string): Promise<boolean>;
  /** Counts an anonymous call for an account. `isCounted`: whether `ofOwner` has already counted it. */
  ofAccount(account: string, address: string, isCounted: boolean): Promise<boolean>;
}

/**
 * Longer than the window of `accountCodes` by more than the time limit of a Redis command. There is always a whole window
 * between two calls that the same slot counts.
 */
const SLOT_S = 65;

export const createTakeReset = ({ limiter, limits }: Pick<Dependencies, 'limiter' | 'limits'>): TakeReset => {
  const slot: RateLimit = { name: 'anonymous-codes', points: 1, windowS: SLOT_S };

  /** Only a few anonymous calls count, so that strangers cannot spend the owner's budget. */
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
      // A call that a narrower limit refuses does not use up a wider one: one address cannot spend the account's budget.
      if (!(await isWithin(limits.resetsPerAccountAndAddress, `${account}:${address}`))) return false;
      if (!(await isWithin(limits.resetsPerAccount, account))) return false;
      // Makes the same number of calls if it is already counted: the response time does not reveal whose account it is.
      const state =
        (await takeSlot(account)) && !isCounted
          ? await limiter.consume(limits.accountCodes, account)
          : await limiter.peek(limits.accountCodes, account);
      return isCounted || state.allowed;
    },
  };
};
