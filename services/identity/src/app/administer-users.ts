/** What operators do with other people's accounts. Nobody reaches an account that may do more than he may. */
import type { UserCaller } from '@fitness/shared/caller.ts';
import type { Clock } from '@fitness/shared/clock.ts';
import { forbidden, invalid, message, notFound } from '@fitness/shared/error.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Sequences } from '@fitness/shared/mongo/sequence.ts';
import type { LicenceDocuments } from '../clients/licence-documents.ts';
import { given } from '../domain/changes.ts';
import { holdsAll, permissionsOf } from '../domain/roles.ts';
import { clearLicence, type LicenceReview, reviewLicence } from '../domain/trainer-license.ts';
import type { User } from '../domain/user.ts';
import type { CodeStore } from '../store/codes.ts';
import type { NotificationStore } from '../store/notifications.ts';
import type { RoleStore } from '../store/roles.ts';
import type { UserStore } from '../store/users.ts';
import { assertManagerRemains, managesRoles } from './keep-a-manager.ts';
import { assertBornAlready, isNewPhone, type ProfileChanges, reachesElsewhere } from './profile.ts';
import type { Transact } from './transact.ts';
import { assertFree, refusingTaken } from './unique-fields.ts';

export interface AdministerUsersParts {
  users: UserStore;
  roles: RoleStore;
  codes: CodeStore;
  notifications: NotificationStore;
  licences: LicenceDocuments;
  sequences: Sequences;
  clock: Clock;
  transact: Transact;
}

interface OperatorChanges extends ProfileChanges {
  role_ids?: readonly number[] | undefined;
  trainer_license_approved?: boolean | null | undefined;
  trainer_license_rejection_reason?: string | null | undefined;
}

export interface AdministerUsers {
  /**
   * 422; 404; 403 for an account or a role with a permission that the caller lacks, and for new contact or bank data of
   * the own account; 409 when nobody could manage roles any more.
   */
  update(caller: UserCaller, userId: number, changes: OperatorChanges): Promise<User>;
}

type Notified = Pick<AdministerUsersParts, 'notifications' | 'sequences' | 'clock'>;

/** Tells the trainer of a verdict that is new; asked before the transaction, which must not wait for the counter. */
const prepareReviewNotice = async (
  { notifications, sequences, clock }: Notified,
  changes: OperatorChanges,
) => {
  if (typeof changes.trainer_license_approved !== 'boolean') return async () => undefined;
  const id = await sequences.next('notifications');
  return async (session: ClientSession, before: User, after: User): Promise<void> => {
    const approved = after.trainer_license_approved;
    if (approved === null || approved === before.trainer_license_approved) return;
    await notifications.insert(session, {
      _id: id,
      user_id: after._id,
      type: 'trainer_license_reviewed',
      data: { approved, reason: after.trainer_license_rejection_reason ?? '' },
      created_at: clock.now(),
      read_at: null,
    });
  };
};

/** 422 for a verdict on a document that is not there. */
const reviewDocument = (current: User, review: LicenceReview) => {
  if (typeof review.approved === 'boolean' && current.trainer_license_media_id === null) {
    throw invalid({ trainer_license_approved: message('users.no_trainer_license') });
  }
  return reviewLicence(current, review);
};

/** 404 for who is not there, 403 for who holds a permission that the caller lacks. */
export const findWithinReach = async (
  { users, roles }: Pick<AdministerUsersParts, 'users' | 'roles'>,
  caller: UserCaller,
  userId: number,
  session?: ClientSession,
): Promise<User> => {
  const user = await users.findById(userId, session);
  if (user === null) throw notFound();
  const held = permissionsOf(await roles.findByIds(user.role_ids, session));
  if (!holdsAll(caller.permissions, held)) throw forbidden('the account may do more than the caller');
  return user;
};

/** PUT /auth/me asks for the password, or for a whole credential; the operators' door to the own account is no way round. */
const assertNotAroundTheOwnDoor = (caller: UserCaller, user: User, changes: ProfileChanges): void => {
  if (caller.userId !== user._id) return;
  const { bank_account_number: account } = changes;
  const isNewAccount = account !== undefined && account !== user.bank_account_number;
  if (isNewAccount || reachesElsewhere(user, changes)) {
    throw forbidden('contact and bank data of the own account are changed by PUT /auth/me');
  }
};

export const createAdministerUsers = (parts: AdministerUsersParts): AdministerUsers => {
  const { users, roles, codes, licences, clock, transact } = parts;

  const assertRolesExist = async (roleIds: readonly number[]): Promise<void> => {
    const found = await roles.findByIds(roleIds);
    if (found.length < new Set(roleIds).size) throw invalid({ role_ids: message('validation.unknown') });
  };

  const assertMayGive = async (
    caller: UserCaller,
    roleIds: readonly number[],
    session?: ClientSession,
  ): Promise<void> => {
    const allowed = permissionsOf(await roles.findByIds(roleIds, session));
    if (!holdsAll(caller.permissions, allowed)) throw forbidden('the role may do more than the caller');
  };

  const assertNotLastManager = async (
    current: User,
    roleIds: readonly number[],
    session: ClientSession,
  ): Promise<void> => {
    if (managesRoles(await roles.findByIds(roleIds, session))) return;
    if (!managesRoles(await roles.findByIds(current.role_ids, session))) return;
    await assertManagerRemains(parts, session, { userId: current._id });
  };

  return {
    update: async (caller, userId, changes) => {
      const { role_ids, trainer_license_image, trainer_license_approved, ...rest } = changes;
      const { trainer_license_rejection_reason, ...profile } = rest;
      assertBornAlready(profile.birth_date, clock.now());
      const roleIds = role_ids === undefined ? undefined : [...new Set(role_ids)];
      if (roleIds !== undefined) await assertRolesExist(roleIds);
      const user = await findWithinReach(parts, caller, userId);
      if (roleIds !== undefined) await assertMayGive(caller, roleIds);
      assertNotAroundTheOwnDoor(caller, user, profile);
      const { username, email, phone } = profile;
      await assertFree(users, given({ username, email, phone }), userId);
      const cleared = user.trainer_license_media_id;
      if (trainer_license_image === null && cleared !== null) {
        await licences.delete(userId, cleared);
      }
      const notify = await prepareReviewNotice(parts, changes);
      const review = { approved: trainer_license_approved, reason: trainer_license_rejection_reason };
      return refusingTaken(users, () =>
        transact(async (session) => {
          // Again, on what the transaction sees: roles may have been given since.
          const current = await findWithinReach(parts, caller, userId, session);
          if (roleIds !== undefined) {
            await assertMayGive(caller, roleIds, session);
            await assertNotLastManager(current, roleIds, session);
          }
          const updated = await users.update(session, userId, {
            ...given(profile),
            ...(roleIds === undefined ? {} : { role_ids: roleIds }),
            ...(trainer_license_image === null
              ? clearLicence(current, cleared)
              : reviewDocument(current, review)),
          });
          if (updated === null) throw notFound();
          if (isNewPhone(current, profile)) await codes.withdraw(session, userId);
          await notify(session, current, updated);
          return updated;
        }),
      );
    },
  };
};
