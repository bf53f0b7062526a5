/** The rate limit that a route declares, and the response when it is exceeded. */
import { AppError, message } from './error.ts';

export interface RateLimit {
  /** Part of the key: routes with the same name share one budget. */
  name: string;
  points: number;
  windowS: number;
  /** Whether it is counted in MongoDB only, because Redis may lose its data during a long window. */
  durable?: boolean;
}

export type DurableRateLimit = RateLimit & { durable: true };

export interface RateLimitState {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Whole seconds until the window ends, at least 1. */
  resetS: number;
}

export interface RateLimiter {
  /** Takes one point of the budget of `key`. Throws `unavailable` when neither Redis nor MongoDB can count. */
  consume(limit: RateLimit, key: string): Promise<RateLimitState>;
  /** The state without taking a point; `allowed` when one is left. Throws as `consume` does. */
  peek(limit: RateLimit, key: string): Promise<RateLimitState>;
  /** Gives back a point that was taken, while its window lasts. Throws as `consume` does. */
  giveBack(limit: DurableRateLimit, key: string): Promise<void>;
}

/** The state before the first point of a window is taken. */
export const unusedBudget = ({ points, windowS }: Pick<RateLimit, 'points' | 'windowS'>): RateLimitState => ({
  allowed: true,
  limit: points,
  remaining: points,
  resetS: windowS,
});

/** 429 with its headers. */
export const rateLimited = (state: RateLimitState): AppError =>
  new AppError({
    kind: 'rate_limited',
    code: 'rate_limited',
    message: message('error.rate_limited'),
    retryAfterS: state.resetS,
    headers: rateLimitHeaders(state),
  });

export const rateLimitHeaders = (state: RateLimitState): Record<string, string> => ({
  'x-ratelimit-limit': String(state.limit),
  'x-ratelimit-remaining': String(state.remaining),
});
