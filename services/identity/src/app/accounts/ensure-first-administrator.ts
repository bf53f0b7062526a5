/** A new installation can be configured to create its first administrator. */
import type { Dependencies } from '../../dependencies.ts';
import { REFERRAL_CODE_BYTES, toReferralCode } from '../../domain/referral-code.ts';
import { ADMINISTRATOR_ROLE_ID } from '../../domain/roles.ts';
import { newMember, type Registration } from './register.ts';

type FirstAdministrator = Pick<Registration, 'username' | 'email' | 'phone' | 'password'>;

type EnsureFirstAdministratorDependencies = Pick<
  Dependencies,
  'store' | 'passwords' | 'sequences' | 'random' | 'clock' | 'log' | 'audit'
>;

/**
 * Creates the account unless an administrator exists. Replicas that start at the same time use the same username, and the
 * unique key lets only one of them create it.
 */
export const createEnsureFirstAdministrator = (dependencies: EnsureFirstAdministratorDependencies) => {
  const { store, passwords, sequences, random, clock, log, audit } = dependencies;
  return async (person: FirstAdministrator): Promise<void> => {
    if (await store.users.isRoleAssigned(ADMINISTRATOR_ROLE_ID)) return;
    const passwordHash = await passwords.hash(person.password, 'start');
    const id = await sequences.next('users');
    const account = newMember({
      id,
      person: { ...person, first_name: person.username, last_name: 'Administrator' },
      passwordHash,
      referralCode: toReferralCode(random.bytes(REFERRAL_CODE_BYTES)),
      referrerId: null,
      createdAt: clock.now(),
    });
    try {
      await store.transaction(async (session) => {
        await store.users.insert(session, { ...account, role_ids: [ADMINISTRATOR_ROLE_ID] });
        await audit.record(session, {
          actorId: null,
          action: 'user.assign_roles',
          subject: { type: 'user', id },
          before: { personId: id, values: { role_ids: [] } },
          after: { personId: id, values: { role_ids: [ADMINISTRATOR_ROLE_ID] } },
          isPersonal: store.users.isPersonal,
        });
      });
      log.info({ user_id: id }, 'created the first administrator');
    } catch (error) {
      if (store.users.takenField(error) === undefined) throw error;
      if (await store.users.isRoleAssigned(ADMINISTRATOR_ROLE_ID)) return;
      log.error('the first administrator was not created: another account has its username, email or phone');
    }
  };
};
