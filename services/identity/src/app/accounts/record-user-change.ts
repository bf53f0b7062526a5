/** Records an operator's change of an account in the audit log, with one entry for each kind of change. */
import { type AuditAction, changesOf } from '@fitness/shared/audit/actions.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { User } from '../../domain/user.ts';

const REVIEWED_NAME = 'trainer_license_reviewed_name';
const isLicense = (field: string): boolean =>
  field.startsWith('trainer_license_') && field !== 'trainer_license_newest_media_id';
const isProfile = (field: string): boolean => !field.startsWith('trainer_license_') && field !== 'role_ids';

type Kind = readonly [AuditAction, (field: string) => boolean];
const kinds = (isVerdict: boolean): Kind[] => [
  ['user.update', isProfile],
  ['user.assign_roles', (field) => field === 'role_ids'],
  // A new name alone is not a review, although the license keeps the old name. A verdict for the new name is one.
  ['trainer_license.review', (field) => isLicense(field) && (isVerdict || field !== REVIEWED_NAME)],
];

export const recordUserChange = async (
  { store, audit }: Pick<Dependencies, 'store' | 'audit'>,
  session: ClientSession,
  caller: UserCaller,
  { before, after, isVerdict }: { before: User; after: User; isVerdict: boolean },
): Promise<void> => {
  const personId = after._id;
  for (const [action, isOfKind] of kinds(isVerdict)) {
    const change = changesOf(before, after, isOfKind);
    if (change === undefined) continue;
    await audit.record(session, {
      actorId: caller.userId,
      action,
      subject: { type: 'user', id: personId },
      before: { personId, values: change.before },
      after: { personId, values: change.after },
      isPersonal: store.users.isPersonal,
    });
  }
};
