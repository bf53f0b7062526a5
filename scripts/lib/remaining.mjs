import { clockOf } from './time.mjs';

/**
 * How long the rest takes when it goes on as until now.
 * @param {{ done: number, total: number, elapsedMs: number }} progress
 * @returns {string} `about 1:05 left`; empty before the first part and after the last
 */
export const remaining = ({ done, total, elapsedMs }) =>
  done === 0 || done >= total ? '' : `about ${clockOf((elapsedMs / done) * (total - done))} left`;
