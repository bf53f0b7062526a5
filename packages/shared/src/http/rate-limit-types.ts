export interface RateLimit {
  /** Part of the key: two routes with one name share one budget. */
  name: string;
  points: number;
  windowS: number;
}

export interface RateLimitState {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Whole seconds until the window ends, at least 1. */
  resetS: number;
}
