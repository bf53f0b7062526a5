import type { DurableRateLimit } from '@fitness/shared/kernel/rate-limit.ts';
import type { Dependencies } from '../../dependencies.ts';
import { hashed, userLimitKey } from '../../domain/limit-keys.ts';
import { emailKey } from '../../domain/login.ts';

/** An `address_change` goes to the previous address. Its budget per account is separate, so other notices cannot use it up. */
export type EmailKind = 'ordinary' | 'security' | 'address_change';

interface EmailPoint {
  limit: DurableRateLimit;
  key: string;
}

export interface EmailBudget {
  /** Counts an email for the account and for the address. When a budget is spent, counts nothing and names the limit. */
  take(
    kind: EmailKind,
    userId: number,
    address: string,
  ): Promise<{ spent: string } | { spent: undefined; giveBack(): Promise<void> }>;
}

export const createEmailBudget = ({ limiter, limits }: Dependencies): EmailBudget => {
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
      const consumed: EmailPoint[] = [];
      for (const point of [
        { limit: account, key: userLimitKey(userId) },
        { limit: recipient, key: hashed(emailKey(address)) },
      ]) {
        if (!(await limiter.consume(point.limit, point.key)).allowed) {
          await giveBack(consumed);
          return { spent: point.limit.name };
        }
        consumed.push(point);
      }
      return { spent: undefined, giveBack: () => giveBack(consumed) };
    },
  };
};
