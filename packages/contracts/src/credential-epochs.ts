/**
 * Lets the gateway cache introspection responses (docs/adr/0002). Redis holds an epoch for each user and one for
 * all roles. Identity advances an epoch when credentials are revoked.
 */

/** A user id, or `roles` for the permissions of all roles. */
export type EpochSubject = number | 'roles';

/** How long the gateway caches a response, counted from the moment before its request. */
export const RECORD_LIFETIME_MS = 5_000;
/** An epoch that has expired is replaced by a new one. */
export const EPOCH_LIFETIME_S = 900;
/** The epoch while a revocation is being committed. No response is cached under it. */
export const REVOKING = 'revoking';
/** Longer than a transaction can be open. If a revocation never ends, nothing is cached for this time. */
export const REVOKING_LIFETIME_S = 120;

/**
 * The Redis key of an epoch. `store` holds the id of the Redis data instead. It does not expire, and a reader that does not find it creates it.
 */
export const epochKey = (namespace: string, subject: EpochSubject | 'store'): string =>
  `${namespace}:credential-epoch:${subject}`;
