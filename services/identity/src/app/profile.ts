/** The own account: reading it, changing it, and its password. */
import { credentialsRevoked } from '@fitness/proto/events/identity.ts';
import type { UserCaller } from '@fitness/shared/caller.ts';
import type { Clock } from '@fitness/shared/clock.ts';
import { forbidden, invalid, message, unauthenticated } from '@fitness/shared/error.ts';
import type { Outbox } from '@fitness/shared/events/outbox.ts';
import type { LicenceDocuments } from '../clients/licence-documents.ts';
import type { Passwords } from '../clients/password-hasher.ts';
import { isInTheFuture } from '../domain/birth-date.ts';
import { given } from '../domain/changes.ts';
import { emailKey } from '../domain/login.ts';
import { clearLicence } from '../domain/trainer-license.ts';
import type { Gender, User } from '../domain/user.ts';
import type { CodeStore } from '../store/codes.ts';
import type { TokenStore } from '../store/tokens.ts';
import type { UserStore } from '../store/users.ts';
import { narrowedTo } from './narrowed.ts';
import type { Transact } from './transact.ts';
import { assertFree, refusingTaken } from './unique-fields.ts';

export interface ProfileParts {
  users: UserStore;
  tokens: TokenStore;
  codes: CodeStore;
  passwords: Passwords;
  licences: LicenceDocuments;
  outbox: Outbox;
  clock: Clock;
  transact: Transact;
}

/** A field that is undefined stays; null clears. */
export interface ProfileChanges {
  first_name?: string | undefined;
  last_name?: string | undefined;
  username?: string | undefined;
  email?: string | undefined;
  /** E.164. */
  phone?: string | undefined;
  height?: number | null | undefined;
  birth_date?: string | null | undefined;
  gender?: Gender | null | undefined;
  bank_account_number?: string | null | undefined;
  trainer_license_image?: null | undefined;
}

interface OwnChanges extends ProfileChanges {
  is_trainer?: boolean | undefined;
  is_gym_owner?: boolean | undefined;
}

export interface Profile {
  read(caller: UserCaller): Promise<User>;
  /**
   * 422: taken fields, a day in the future, a new e-mail or phone without the password. 403: a new bank account by a
   * token that was cut down.
   */
  update(caller: UserCaller, changes: OwnChanges, currentPassword?: string): Promise<User>;
  /** Every other credential dies with it. 422 under `current_password`. */
  changePassword(caller: UserCaller, currentPassword: string, password: string): Promise<void>;
}

export const assertBornAlready = (birthDate: string | null | undefined, now: Date): void => {
  if (birthDate != null && isInTheFuture(birthDate, now)) {
    throw invalid({ birth_date: message('validation.date_in_the_future') });
  }
};

const wrongPassword = () => invalid({ current_password: message('auth.wrong_password') });

/** A code that went to the old phone proves nothing of who holds the new one. */
export const isNewPhone = (user: User, { phone }: ProfileChanges): boolean =>
  phone !== undefined && phone !== user.phone;

/** Whether codes and messages would go somewhere else. */
export const reachesElsewhere = (user: User, changes: ProfileChanges): boolean =>
  (changes.email !== undefined && emailKey(changes.email) !== emailKey(user.email)) ||
  isNewPhone(user, changes);

export const createProfile = (parts: ProfileParts): Profile => {
  const { users, tokens, codes, passwords, licences, outbox, clock, transact } = parts;

  const read = async ({ userId }: UserCaller): Promise<User> => {
    const user = await users.findById(userId);
    // Erased since the token was looked at.
    if (user === null) throw unauthenticated();
    return user;
  };

  const assertPassword = async (user: User, password: string | undefined): Promise<void> => {
    if (password === undefined) throw invalid({ current_password: message('validation.required') });
    if (!(await passwords.verify(user.password_hash, password))) throw wrongPassword();
  };

  /** 403: withdrawals go to the bank account; a token that was cut down does not say where that is. */
  const assertMayDirectMoney = async (
    caller: UserCaller,
    user: User,
    { bank_account_number: account }: ProfileChanges,
  ): Promise<void> => {
    if (account === undefined || account === user.bank_account_number) return;
    if ((await narrowedTo(tokens, caller, clock.now())) !== undefined) {
      throw forbidden('the bank account, by a token that was cut down');
    }
  };

  return {
    read,

    update: async (caller, { trainer_license_image, ...fields }, currentPassword) => {
      assertBornAlready(fields.birth_date, clock.now());
      const user = await read(caller);
      if (reachesElsewhere(user, fields)) await assertPassword(user, currentPassword);
      await assertFree(
        users,
        given({ username: fields.username, email: fields.email, phone: fields.phone }),
        user._id,
      );
      await assertMayDirectMoney(caller, user, fields);
      // The document first: if media cannot be reached nothing is changed, and asking again does no harm.
      const cleared = user.trainer_license_media_id;
      if (trainer_license_image === null && cleared !== null) {
        await licences.delete(user._id, cleared);
      }
      const updated = await refusingTaken(users, () =>
        transact(async (session) => {
          const current = await users.findById(user._id, session);
          if (current === null) return null;
          const licence = trainer_license_image === null ? clearLicence(current, cleared) : {};
          if (isNewPhone(current, fields)) await codes.withdraw(session, user._id);
          return users.update(session, user._id, { ...given(fields), ...licence });
        }),
      );
      if (updated === null) throw unauthenticated();
      return updated;
    },

    changePassword: async (caller, currentPassword, password) => {
      const user = await read(caller);
      await assertPassword(user, currentPassword);
      const passwordHash = await passwords.hash(password);
      await transact(async (session) => {
        const updated = await users.setPassword(session, user._id, passwordHash, user.credential_epoch);
        // Another change came first: what was verified is no longer the password.
        if (updated === null) throw wrongPassword();
        await tokens.revokeOthers(session, user._id, caller.tokenId);
        // A code lets in like a password: one that somebody else has asked for would undo the change.
        await codes.withdraw(session, user._id);
        await outbox.emit(session, credentialsRevoked, {
          subject: user._id,
          aggregateVersion: updated.version,
          data: { user_id: user._id, reason: 'password_changed' },
        });
      });
    },
  };
};
