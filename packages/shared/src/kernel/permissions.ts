/** The named permissions (specification 5.4). Nothing else authorizes anything: no role, no property of a user. */
export const PERMISSIONS = [
  'users.view_limited',
  'users.view_all',
  'users.update_any',
  'users.delete',
  'roles.manage',
  'gyms.create',
  'gyms.update',
  'gyms.update_any',
  'gyms.transfer_ownership',
  'gyms.approve_license',
  'gyms.view_all',
  'posts.create',
  'posts.view',
  'posts.view_all',
  'posts.update_any',
  'training_services.create',
  'training_services.update_any',
  'payments.view_own',
  'payments.view_all',
  'payments.settle_withdrawals',
  'payments.resolve_disputes',
  'payments.buy_premium',
  'payments.boost_own',
  'payments.boost_all',
  'audit.view',
  /** Sees what waits in the services, and returns dead-lettered events to their queues. */
  'operations.manage',
] as const;

export type Permission = (typeof PERMISSIONS)[number];

/** Permissions of everyone with an account. */
export const MEMBER_PERMISSIONS: readonly Permission[] = [
  'users.view_limited',
  'gyms.create',
  'gyms.update',
  'posts.create',
  'posts.view',
  'training_services.create',
  'payments.view_own',
  'payments.buy_premium',
  'payments.boost_own',
];

/** All other permissions. Their holders see or change other users' data. */
export const OPERATOR_PERMISSIONS: ReadonlySet<Permission> = new Set(
  PERMISSIONS.filter((permission) => !MEMBER_PERMISSIONS.includes(permission)),
);

/**
 * Permissions that third parties cannot get. They allow taking over accounts, keeping access after a revocation,
 * reading what operators did, and steering the running services.
 */
const NEVER_DELEGATED: ReadonlySet<Permission> = new Set([
  'users.update_any',
  'users.delete',
  'roles.manage',
  'audit.view',
  'operations.manage',
]);

/** Permissions that a user can delegate to a third party: the OAuth scopes. */
export const DELEGABLE_PERMISSIONS: readonly Permission[] = PERMISSIONS.filter(
  (permission) => !NEVER_DELEGATED.has(permission),
);

export const isPermission = (value: string): value is Permission =>
  (PERMISSIONS as readonly string[]).includes(value);
