/** Audit entries for what an operator does to a gym, stored in the transaction of the change. */
import {
  type AuditAction,
  type AuditChange,
  type AuditValues,
  changesOf,
} from '@fitness/shared/audit/actions.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Gym } from '../domain/gym.ts';

type Recorder = Pick<Dependencies, 'store' | 'audit'>;

const isLicense = (field: string): boolean =>
  field.startsWith('license.') && field !== 'license.newestMediaId';
/** A new name is not a review, although the license remembers the old one. The same verdict for a new name is a review. */
const isReviewed = (field: string): boolean => isLicense(field) && field !== 'license.reviewedName';
const isOther = (field: string): boolean => !field.startsWith('license.');

const isOwn = ({ ownerId }: Gym, { userId }: UserCaller): boolean => ownerId === userId;

/** Whether an operator made the change: a transfer needs an operator's permission, even for the caller's own gym. */
const byOperator = (caller: UserCaller, before: Gym, { after }: AuditChange): boolean =>
  !isOwn(before, caller) || 'ownerId' in after;

export const recordGymChange = async (
  recorder: Recorder,
  session: ClientSession,
  caller: UserCaller,
  {
    before,
    after,
    isReview = false,
    isVerdict = false,
  }: { before: Gym; after: Gym; isReview?: boolean; isVerdict?: boolean },
): Promise<void> => {
  const details = changesOf(before, after, isOther);
  if (details !== undefined && byOperator(caller, before, details))
    await record(recorder, session, caller, 'gym.update', before, details, after);
  const license = changesOf(before, after, isVerdict ? isLicense : isReviewed);
  if (license !== undefined && (isReview || !isOwn(before, caller)))
    await record(recorder, session, caller, 'gym_license.review', before, license, after);
};

export const recordGymDeletion = async (
  { audit, store }: Recorder,
  session: ClientSession,
  caller: UserCaller,
  gym: Gym,
): Promise<void> => {
  if (isOwn(gym, caller)) return;
  const values: AuditValues = {
    name: gym.name,
    address: gym.address,
    ownerId: gym.ownerId,
    isActive: gym.isActive,
  };
  await audit.record(session, {
    actorId: caller.userId,
    action: 'gym.delete',
    subject: { type: 'gym', id: gym.id },
    before: { personId: gym.ownerId, values },
    isPersonal: store.gyms.isPersonal,
  });
};

/** The values of each state belong to the person who owned the gym at that time. */
const record = (
  { audit, store }: Recorder,
  session: ClientSession,
  caller: UserCaller,
  action: AuditAction,
  before: Gym,
  change: AuditChange,
  after: Gym,
): Promise<void> =>
  audit.record(session, {
    actorId: caller.userId,
    action,
    subject: { type: 'gym', id: after.id },
    before: { personId: before.ownerId, values: change.before },
    after: { personId: after.ownerId, values: change.after },
    isPersonal: store.gyms.isPersonal,
  });
