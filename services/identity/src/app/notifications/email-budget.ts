import type { DurableRateLimit } from '@fitness/shared/kernel/rate-limit.ts';
import type { Dependencies } from '../../dependencies.ts';
import { hashed, userLimitKey } from '../../domain/limit-keys.ts';
import { emailKey } from '../../domain/login.ts';

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

export const createEmailBudget = ({
  limiter,
  limits,
}: Pick<Dependencies, 'limiter' | 'limits'>): EmailBudget => {
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
