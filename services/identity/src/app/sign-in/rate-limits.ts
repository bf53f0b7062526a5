/** Rate limits that a use case consumes itself, and their keys. */
import { createHash } from 'node:crypto';
import { type DurableRateLimit, type RateLimit, rateLimited } from '@fitness/shared/kernel/rate-limit.ts';
import type { Dependencies } from '../../dependencies.ts';
import { canonicalLogin, emailKey } from '../../domain/login.ts';

/** Hashed, because the store must not keep what was typed. */
const hashed = (text: string): string => createHash('sha256').update(text).digest('base64url');

export const userLimitKey = (userId: number): string => `user:${userId}`;

/**
 * The account that a login belongs to, by the key of its signed-in calls.
 * An unknown login is limited too, in all its spellings together, so that the response does not reveal that it is unknown.
 */
export const accountLimitKey = (login: string, userId: number | undefined): string =>
  userId === undefined ? `login:${hashed(canonicalLogin(login))}` : userLimitKey(userId);

type LimitDependencies = Pick<Dependencies, 'limiter' | 'limits'>;

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

export const createTakeReset = (dependencies: LimitDependencies): TakeReset => {
  const { limiter, limits } = dependencies;
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
      // As many calls for one that is counted already: the response time does not tell whose account it is.
      const state =
        (await takeSlot(account)) && !isCounted
          ? await limiter.consume(limits.accountCodes, account)
          : await limiter.peek(limits.accountCodes, account);
      return isCounted || state.allowed;
    },
  };
};

/** 429: one account after the other could ask which user names, e-mails and phones are taken, as by registering. */
export const takeNameChange = async (
  { limiter, limits: { nameChanges } }: LimitDependencies,
  address: string,
): Promise<void> => {
  if (nameChanges === undefined) return;
  const state = await limiter.consume(nameChanges, `address:${address}`);
  if (!state.allowed) throw rateLimited(state);
};

export interface SmsBudget {
  /** 429 when the day's SMS to this phone are spent. */
  takeSignedIn(phone: string): Promise<void>;
  /** False when nothing may be sent. The last SMS of a day to the phone is kept for networks that the account knows. */
  takeAnonymous(phone: string, isKnownNetwork: boolean): Promise<boolean>;
}

const ALERT_SHARE = 0.8;

export const createSmsBudget = ({
  limiter,
  limits,
  anonymousSmsCounter,
  log,
}: LimitDependencies & Pick<Dependencies, 'anonymousSmsCounter' | 'log'>): SmsBudget => ({
  takeSignedIn: async (phone) => {
    const state = await limiter.consume(limits.signedInSmsPerPhone, hashed(phone));
    if (!state.allowed) throw rateLimited(state);
  },

  takeAnonymous: async (phone, isKnownNetwork) => {
    const perPhone = limits.anonymousSmsPerPhone;
    // The same count, so that whatever order they come in, one is left for the owner.
    const points = isKnownNetwork ? perPhone.points : Math.max(1, perPhone.points - 1);
    if (!(await limiter.consume({ ...perPhone, points }, hashed(phone))).allowed) return false;
    const { allowed, limit, remaining } = await limiter.consume(limits.anonymousSms, 'all');
    const used = limit - remaining;
    const alertAt = Math.ceil(limit * ALERT_SHARE);
    // Each count is seen by one call only, so that each text is logged once a day over all replicas.
    if (allowed && (used === alertAt || used === limit)) {
      log.error(
        { used, limit },
        'the daily limit of SMS that are asked for anonymously is nearly or wholly used',
      );
    }
    anonymousSmsCounter.inc({ budget: !allowed ? 'spent' : used >= alertAt ? 'alert' : 'ok' });
    return allowed;
  },
});

/** `address_change`: to the previous address. It has a budget of its own at the account, so that no other notice uses it up. */
export type EmailKind = 'ordinary' | 'security' | 'address_change';

interface EmailPoint {
  limit: DurableRateLimit;
  key: string;
}

export interface EmailBudget {
  /** Counts an e-mail for the account and for the address. When the day's are spent: nothing, and the name of the limit. */
  take(
    kind: EmailKind,
    userId: number,
    address: string,
  ): Promise<{ spent: string } | { spent: undefined; giveBack(): Promise<void> }>;
}

export const createEmailBudget = ({ limiter, limits }: LimitDependencies): EmailBudget => {
  const limitsOf: Record<EmailKind, { account: DurableRateLimit; recipient: DurableRateLimit }> = {
    ordinary: { account: limits.emailsPerAccount, recipient: limits.emailsPerRecipient },
    security: { account: limits.securityEmailsPerAccount, recipient: limits.securityEmailsPerRecipient },
    address_change: { account: limits.emailChangeEmails, recipient: limits.securityEmailsPerRecipient },
  };
  const giveBack = async (points: readonly EmailPoint[]): Promise<void> => {
    for (const { limit, key } of points) await limiter.giveBack(limit, key);
  };
  return {
    take: async (kind, userId, address) => {
      const { account, recipient } = limitsOf[kind];
      const taken: EmailPoint[] = [];
      for (const point of [
        { limit: account, key: userLimitKey(userId) },
        { limit: recipient, key: hashed(emailKey(address)) },
      ]) {
        if (!(await limiter.consume(point.limit, point.key)).allowed) {
          await giveBack(taken);
          return { spent: point.limit.name };
        }
        taken.push(point);
      }
      return { spent: undefined, giveBack: () => giveBack(taken) };
    },
  };
};
