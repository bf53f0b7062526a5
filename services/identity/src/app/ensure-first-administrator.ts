/** A new installation can be configured to create its first administrator. */
import type { Dependencies } from '../dependencies.ts';
import { REFERRAL_CODE_BYTES, toReferralCode } from '../domain/referral-code.ts';
import { ADMINISTRATOR_ROLE_ID } from '../domain/roles.ts';
import { newMember, type Registration } from './register.ts';

type FirstAdministrator = Pick<Registration, 'username' | 'email' | 'phone' | 'password'>;

type EnsureFirstAdministratorDependencies = Pick<
  Dependencies,
  'users' | 'passwords' | 'sequences' | 'random' | 'clock' | 'log' | 'transact'
>;

/**
 * Creates the account unless an administrator exists. Replicas that start at the same time use the same user name, so
 * that the unique key lets one of them create it.
 */
export const createEnsureFirstAdministrator = (dependencies: EnsureFirstAdministratorDependencies) => {
  const { users, passwords, sequences, random, clock, log, transact } = dependencies;
  return async (person: FirstAdministrator): Promise<void> => {
    if (await users.isRoleAssigned(ADMINISTRATOR_ROLE_ID)) return;
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
      if (await users.isRoleAssigned(ADMINISTRATOR_ROLE_ID)) return;
      log.error(
        'the first administrator was not created: another account has its user name, e-mail or phone',
      );
    }
  };
};
