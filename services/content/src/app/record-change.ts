/** Audit entries for an operator’s changes to another user’s content, written in the transaction of the change. */
import { type AuditAction, type AuditValues, changesOf } from '@fitness/shared/audit/actions.ts';
import { can, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { IsPersonal } from '@fitness/shared/mongo/privacy.ts';
import type { Dependencies } from '../dependencies.ts';
import { type Post, pickPostFields } from '../domain/post.ts';
import { pickTrainingServiceFields, type TrainingService } from '../domain/training-service.ts';

interface Change {
  action: AuditAction;
  subject: { type: 'post' | 'training_service'; id: number };
  ownerId: number | null;
  /** Without this permission, callers can only change their own content. */
  permission: Permission;
  isPersonal: IsPersonal;
  before: AuditValues;
  /** Null for a deletion. */
  after: AuditValues | null;
}

const recordChange = async (
  { audit }: Pick<Dependencies, 'audit'>,
  session: ClientSession,
  caller: UserCaller,
  { action, subject, ownerId: personId, permission, isPersonal, before, after }: Change,
): Promise<void> => {
  if (caller.userId === personId || !can(caller, permission)) return;
  const change = after === null ? { before, after } : changesOf(before, after);
  if (change === undefined) return;
  await audit.record(session, {
    actorId: caller.userId,
    action,
    subject,
    before: { personId, values: change.before },
    ...(change.after === null ? {} : { after: { personId, values: change.after } }),
    isPersonal,
  });
};

type Recorder = Pick<Dependencies, 'store' | 'audit'>;

export const recordPostChange = (
  recorder: Recorder,
  session: ClientSession,
  caller: UserCaller,
  { before, after }: { before: Post; after: Post | null },
): Promise<void> =>
  recordChange(recorder, session, caller, {
    action: after === null ? 'post.delete' : 'post.update',
    subject: { type: 'post', id: before.id },
    ownerId: before.owner_user_id,
    permission: 'posts.update_any',
    isPersonal: recorder.store.posts.isPersonal,
    before: pickPostFields(before),
    after: after === null ? null : pickPostFields(after),
  });

export const recordTrainingServiceChange = (
  recorder: Recorder,
  session: ClientSession,
  caller: UserCaller,
  { before, after }: { before: TrainingService; after: TrainingService | null },
): Promise<void> =>
  recordChange(recorder, session, caller, {
    action: after === null ? 'training_service.delete' : 'training_service.update',
    subject: { type: 'training_service', id: before.id },
    ownerId: before.user_id,
    permission: 'training_services.update_any',
    isPersonal: recorder.store.trainingServices.isPersonal,
    before: pickTrainingServiceFields(before),
    after: after === null ? null : pickTrainingServiceFields(after),
  });
