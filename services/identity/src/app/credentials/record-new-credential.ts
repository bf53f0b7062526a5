/** Records credentials other than sessions: the owner is notified, and those of staff are in the audit log. */
import type { AuditAction, AuditValues } from '@fitness/shared/audit/actions.ts';
import { OPERATOR_PERMISSIONS } from '@fitness/shared/kernel/permissions.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { User } from '../../domain/user.ts';
import type { SecurityChange } from '../notifications/notification-resource.ts';
import type { SecurityNotices } from '../sign-in/security-notices.ts';
import type { UsablePermissions } from './usable-permissions.ts';

interface NewCredential {
  change: SecurityChange;
  action: AuditAction;
  values: AuditValues;
}

export interface RecordDependencies extends Pick<Dependencies, 'audit'> {
  securityNotices: SecurityNotices;
  usablePermissions: UsablePermissions;
}

/** Runs in the transaction that issues the credential. */
export const recordNewCredential = async (
  { audit, securityNotices, usablePermissions }: RecordDependencies,
  session: ClientSession,
  user: Pick<User, '_id' | 'role_ids'>,
  { change, action, values }: NewCredential,
): Promise<void> => {
  await securityNotices.notify(session, user, change, 'account');
  const { usable, withheld } = await usablePermissions(user);
  if (![...usable, ...withheld].some((permission) => OPERATOR_PERMISSIONS.has(permission))) return;
  await audit.record(session, {
    actorId: user._id,
    action,
    subject: { type: 'user', id: user._id },
    before: { personId: null, values: {} },
    after: { personId: null, values },
  });
};
