/** Commands that a server has not, or does not let this user execute. */
import { causesOf } from '../kernel/outage.ts';

/**
 * Unauthorized, CommandNotFound, CommandNotSupported, and AtlasError: Atlas answers so to the commands that its smaller clusters
 * do not have, and its larger ones have no privilege to create users.
 */
const REFUSED = new Set<unknown>([13, 59, 115, 8_000]);

/** The code by which a server has refused the command, if that is why it failed. Asking again has the same answer. */
export const refusalOf = (error: unknown): number | undefined =>
  causesOf(error)
    .map(({ code }) => code)
    .find((code): code is number => REFUSED.has(code));
