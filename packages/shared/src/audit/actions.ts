/** The names of operators' actions in the audit log (ADR 56). */

export const AUDIT_ACTIONS = [
  'user.update',
  'user.assign_roles',
  'user.delete',
  /** The second factor of another user was removed. */
  'second_factor.remove',
  /** The session of another user was ended. */
  'session.end',
  /** A new personal token of an account with an operator's permission, made by its owner. */
  'token.create',
  /** A new app that may act for an account with an operator's permission. */
  'app.connect',
  /** A trainer license was approved, rejected, reset or cleared. */
  'trainer_license.review',
  'role.update',
  'withdrawal.pay',
  'withdrawal.reject',
  /** An operator claimed a withdrawal, or took it over from another one. */
  'withdrawal.claim',
  'withdrawal.release',
  /** A decision was refused, although its operator may already have sent money. */
  'withdrawal.pay_refused',
  'deposit.resolve',
  'deposit.resolve_refused',
  'refund.resolve',
  'refund.resolve_refused',
  /** An operator has bought a boost for another user's target. */
  'boost.buy',
  'gym.update',
  'gym.delete',
  'gym_license.review',
  'post.update',
  'post.delete',
  'training_service.update',
  'training_service.delete',
  'media.upload',
  'media.delete',
  /** A private document of another user was requested. */
  'document.view',
  /** On `/ops`, or by the command `npm run dead-letters`. */
  'dead_letters.replay',
  'dead_letters.purge',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export const AUDIT_SUBJECTS = [
  'user',
  'role',
  'payment',
  'refund',
  'boost',
  'gym',
  'post',
  'training_service',
  'media',
  'dead_letters',
] as const;
export type AuditSubject = (typeof AUDIT_SUBJECTS)[number];

/** One state of the subject: stored fields by their path. */
export type AuditValues = Readonly<Record<string, unknown>>;

export interface AuditChange {
  before: AuditValues;
  after: AuditValues;
}

/** Counters and times that every change writes. */
const TECHNICAL = new Set(['version', 'updated_at', 'updatedAt']);

const isNested = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** `{license: {approved: true}}` as `{'license.approved': true}`. */
const flat = (values: object, prefix = ''): [string, unknown][] =>
  Object.entries(values).flatMap(([name, value]): [string, unknown][] =>
    isNested(value) ? flat(value, `${prefix}${name}.`) : [[`${prefix}${name}`, value]],
  );

/** The changed fields that `isIncluded` accepts; undefined if there are none. */
export const changesOf = (
  before: object,
  after: object,
  isIncluded: (path: string) => boolean = () => true,
): AuditChange | undefined => {
  const [old, current] = [new Map(flat(before)), new Map(flat(after))];
  const paths = [...new Set([...old.keys(), ...current.keys()])].filter(
    (path) =>
      !TECHNICAL.has(path) &&
      isIncluded(path) &&
      JSON.stringify(old.get(path) ?? null) !== JSON.stringify(current.get(path) ?? null),
  );
  if (paths.length === 0) return undefined;
  const pick = (from: ReadonlyMap<string, unknown>): AuditValues =>
    Object.fromEntries(paths.map((path) => [path, from.get(path) ?? null]));
  return { before: pick(old), after: pick(current) };
};
