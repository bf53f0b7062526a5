/** Creates an account with the role `member`, and its first session token. */
import { invalid, message } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../../dependencies.ts';
import type { Client } from '../../domain/client.ts';
import { normalizeReferralCode, REFERRAL_CODE_BYTES, toReferralCode } from '../../domain/referral-code.ts';
import { MEMBER_ROLE_ID } from '../../domain/roles.ts';
import type { User } from '../../domain/user.ts';
import type { NewUser } from '../../store/users.ts';
import type { NewSessionToken, Session } from '../sign-in/new-session-token.ts';
import { assertNotTaken, rejectTaken } from './unique-fields.ts';

interface RegisterDependencies extends Dependencies {
  newSessionToken: NewSessionToken;
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

/** Throws 422 for a taken username, email or phone, or an unknown referral code. */
type Register = (registration: Registration, client: Client) => Promise<Session>;

/** How many referral codes are generated at most if they already exist. */
const MAX_CODE_ATTEMPTS = 5;

export const createRegister = (dependencies: RegisterDependencies): Register => {
  const { store, passwords, sequences, clock, networkHash, newSessionToken } = dependencies;

  const findReferrer = async (code: string | null | undefined): Promise<number | null> => {
    if (code == null) return null;
    const referrer = await store.users.findByReferralCode(normalizeReferralCode(code));
    if (referrer === null) throw invalid({ referral_code: message('auth.unknown_referral_code') });
    return referrer._id;
  };

  return async (registration, client) => {
    await assertNotTaken(dependencies, registration);
    const referrerId = await findReferrer(registration.referral_code);
    const passwordHash = await passwords.hash(registration.password, client.address);
    const id = await sequences.next('users');
    const { token, row } = await newSessionToken(id, client);
    const insert = async (referralCode: string): Promise<User> => {
      const account = newMember({
        id,
        person: registration,
        passwordHash,
        referralCode,
        referrerId,
        createdAt: clock.now(),
      });
      return rejectTaken(dependencies, () =>
        store.transaction(async (session) => {
          const user = await store.users.insert(session, account, networkHash(id, client.address));
          await store.tokens.insert(session, row, user.credential_epoch);
          return user;
        }),
      );
    };
    const user = await withUniqueReferralCode(dependencies, insert);
    return { token, expiresAt: row.expires_at, user };
  };
};

const withUniqueReferralCode = async <T>(
  { store, random }: RegisterDependencies,
  insert: (referralCode: string) => Promise<T>,
): Promise<T> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await insert(toReferralCode(random.bytes(REFERRAL_CODE_BYTES)));
    } catch (error) {
      if (store.users.takenField(error) !== 'referral_code' || attempt === MAX_CODE_ATTEMPTS) throw error;
    }
  }
};

interface Member {
  id: number;
  person: Omit<Registration, 'password' | 'referral_code'>;
  passwordHash: string;
  referralCode: string;
  referrerId: number | null;
  createdAt: Date;
}

export const newMember = ({
  id,
  person,
  passwordHash,
  referralCode,
  referrerId,
  createdAt,
}: Member): NewUser => ({
  _id: id,
  username: person.username,
  email: person.email,
  phone: person.phone,
  password_hash: passwordHash,
  first_name: person.first_name,
  last_name: person.last_name,
  created_at: createdAt,
  referral_code: referralCode,
  referrer_user_id: referrerId,
  role_ids: [MEMBER_ROLE_ID],
});
