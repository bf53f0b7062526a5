/** A new account: a member with a token to begin with. */
import type { Clock, Random } from '@fitness/shared/clock.ts';
import { invalid, message } from '@fitness/shared/error.ts';
import type { Sequences } from '@fitness/shared/mongo/sequence.ts';
import type { Passwords } from '../clients/password-hasher.ts';
import { normalizeReferralCode, REFERRAL_CODE_BYTES, toReferralCode } from '../domain/referral-code.ts';
import { MEMBER_ROLE_ID } from '../domain/roles.ts';
import type { User } from '../domain/user.ts';
import type { TokenStore } from '../store/tokens.ts';
import type { NewUser, UserStore } from '../store/users.ts';
import type { NewSessionToken, SignedIn } from './session-tokens.ts';
import type { Transact } from './transact.ts';
import { assertFree, refusingTaken } from './unique-fields.ts';

export interface RegisterParts {
  users: UserStore;
  tokens: TokenStore;
  passwords: Passwords;
  newSessionToken: NewSessionToken;
  sequences: Sequences;
  random: Random;
  clock: Clock;
  transact: Transact;
}

export interface Registration {
  username: string;
  email: string;
  /** E.164. */
  phone: string;
  password: string;
  first_name: string;
  last_name: string;
  referral_code?: string | null | undefined;
}

/** 422: a user name, e-mail or phone that is taken, an unknown referral code. */
export type Register = (registration: Registration) => Promise<SignedIn<User>>;

/** Two equal codes of eight random characters are a matter of luck; several in a row are not. */
const CODE_ATTEMPTS = 5;

export const createRegister = (parts: RegisterParts): Register => {
  const { users, tokens, passwords, sequences, clock } = parts;

  const findReferrer = async (code: string | null | undefined): Promise<number | null> => {
    if (code == null) return null;
    const referrer = await users.findByReferralCode(normalizeReferralCode(code));
    if (referrer === null) throw invalid({ referral_code: message('auth.unknown_referral_code') });
    return referrer._id;
  };

  return async (registration) => {
    await assertFree(users, registration);
    const referrerId = await findReferrer(registration.referral_code);
    const passwordHash = await passwords.hash(registration.password);
    const id = await sequences.next('users');
    const { token, row } = parts.newSessionToken(id);
    const insert = async (referralCode: string): Promise<User> => {
      const account = newMember(id, registration, passwordHash, referralCode, referrerId, clock.now());
      return refusingTaken(users, () =>
        parts.transact(async (session) => {
          const user = await users.insert(session, account);
          await tokens.insert(session, row, user.credential_epoch);
          return user;
        }),
      );
    };
    const user = await withFreshCode(parts, insert);
    return { token, expiresAt: row.expires_at, user };
  };
};

const withFreshCode = async <T>(
  { users, random }: RegisterParts,
  insert: (referralCode: string) => Promise<T>,
): Promise<T> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await insert(toReferralCode(random.bytes(REFERRAL_CODE_BYTES)));
    } catch (error) {
      if (users.takenField(error) !== 'referral_code' || attempt === CODE_ATTEMPTS) throw error;
    }
  }
};

export const newMember = (
  id: number,
  person: Omit<Registration, 'password' | 'referral_code'>,
  passwordHash: string,
  referralCode: string,
  referrerId: number | null,
  now: Date,
): NewUser => ({
  _id: id,
  username: person.username,
  email: person.email,
  phone: person.phone,
  password_hash: passwordHash,
  first_name: person.first_name,
  last_name: person.last_name,
  created_at: now,
  referral_code: referralCode,
  referrer_user_id: referrerId,
  height: null,
  birth_date: null,
  gender: null,
  bank_account_number: null,
  is_trainer: false,
  is_gym_owner: false,
  trainer_license_image: null,
  trainer_license_media_id: null,
  trainer_license_newest_media_id: null,
  trainer_license_approved: null,
  trainer_license_rejection_reason: null,
  role_ids: [MEMBER_ROLE_ID],
  deletion_requested_at: null,
  deletion_scheduled_at: null,
});
