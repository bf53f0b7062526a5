/** Somebody must be able to give roles: a new installation can be told who is its first administrator. */
import type { Clock, Random } from '@fitness/shared/clock.ts';
import type { Logger } from '@fitness/shared/log.ts';
import type { Sequences } from '@fitness/shared/mongo/sequence.ts';
import type { Passwords } from '../clients/password-hasher.ts';
import { REFERRAL_CODE_BYTES, toReferralCode } from '../domain/referral-code.ts';
import { ADMINISTRATOR_ROLE_ID } from '../domain/roles.ts';
import type { UserStore } from '../store/users.ts';
import { newMember } from './register.ts';
import type { Transact } from './transact.ts';

export interface FirstAdministrator {
  username: string;
  email: string;
  /** E.164. */
  phone: string;
  password: string;
}

export interface FirstAdministratorParts {
  users: UserStore;
  passwords: Passwords;
  sequences: Sequences;
  random: Random;
  clock: Clock;
  log: Logger;
  transact: Transact;
}

/**
 * Creates it when there is no administrator. Several replicas that start at once try the same user name, and the unique
 * index lets one of them win.
 */
export const ensureFirstAdministrator = async (
  parts: FirstAdministratorParts,
  person: FirstAdministrator,
): Promise<void> => {
  const { users, passwords, sequences, random, clock, log, transact } = parts;
  if (await users.someoneHasRole(ADMINISTRATOR_ROLE_ID)) return;
  const passwordHash = await passwords.hash(person.password);
  const id = await sequences.next('users');
  const named = { ...person, first_name: person.username, last_name: 'Administrator' };
  const code = toReferralCode(random.bytes(REFERRAL_CODE_BYTES));
  const account = newMember(id, named, passwordHash, code, null, clock.now());
  try {
    await transact((session) => users.insert(session, { ...account, role_ids: [ADMINISTRATOR_ROLE_ID] }));
    log.info({ user_id: id }, 'created the first administrator');
  } catch (error) {
    if (users.takenField(error) === undefined) throw error;
    if (await users.someoneHasRole(ADMINISTRATOR_ROLE_ID)) return;
    log.error('the first administrator was not created: another account has its user name, e-mail or phone');
  }
};
