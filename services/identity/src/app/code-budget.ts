/** The budget that delete-account and password reset share: each call may spend an SMS (specification 8). */
import type { RateLimit } from '@fitness/shared/http/rate-limit.ts';

export const CODE_BUDGET: RateLimit = { name: 'account-codes', points: 5, windowS: 60 };

/** The key under which a route's own limit counts a signed-in user. */
export const codeBudgetKey = (userId: number): string => `user:${userId}`;
