/** Recognizes commands that a server does not have, or that this user may not execute. */
import { causesOf } from '../kernel/outage.ts';

/**
 * Unauthorized, CommandNotFound, CommandNotSupported, and AtlasError. Atlas returns the last one for commands
 * that its smaller clusters do not have. Its larger clusters have no privilege to create users.
 */
const REFUSED = new Set<unknown>([13, 59, 115, 8_000]);

/** The code with which a server has refused the command, if that is why it failed. A retry gets the same response. */
export const refusalOf = (error: unknown): number | undefined =>
  causesOf(error)
    .map(({ code }) => code)
    .find((code): code is number => REFUSED.has(code));
