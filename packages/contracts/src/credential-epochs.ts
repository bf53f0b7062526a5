/**
 * What identity and the gateway agree on, so that the gateway may keep the answer of an introspection (docs/adr/0002): Redis
 * holds an epoch for each user and one for all roles. Identity advances it when credentials are revoked.
 */

/** A user id, or `roles`: the permissions of the roles of everybody. */
export type EpochSubject = number | 'roles';

/** How long the gateway keeps an answer, from before it asked. */
export const RECORD_LIFETIME_MS = 5_000;
/** A missing epoch is a new one. */
export const EPOCH_LIFETIME_S = 900;
/** The epoch while a revocation is being committed. No answer is kept under it. */
export const REVOKING = 'revoking';
/** Longer than a transaction can be open: without an end of the revocation nothing is kept for as long. */
export const REVOKING_LIFETIME_S = 120;

/**
 * `store`: no epoch, but the id of the place that holds them. It does not expire, and whoever misses it creates it.
 */
export const epochKey = (namespace: string, subject: EpochSubject | 'store'): string =>
  `${namespace}:credential-epoch:${subject}`;
