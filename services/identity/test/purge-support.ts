/** Replicas of identity without doors, that purge when they are told to, and accounts whose day has come. */
import { type Clock, DAY_MS } from '@fitness/shared/clock.ts';
import { openFoundation } from '@fitness/shared/service.ts';
import { newMember } from '../src/app/register.ts';
import { createPasswords } from '../src/clients/password-hasher.ts';
import type { IdentityConfig } from '../src/config.ts';
import { createParts, type Parts } from '../src/parts.ts';
import type { DueAccount, NewUser } from '../src/store/users.ts';
import { createUseCases } from '../src/use-cases.ts';
import type { World } from './support.ts';

export interface Replica {
  parts: Parts;
  purge: ReturnType<typeof createUseCases>['purgeAccounts'];
  close(): Promise<void>;
}

/** What one more process of the service is made of. `altered` is put between the parts and those who use them. */
export const openReplica = async (
  config: IdentityConfig,
  clock: Clock,
  altered: (parts: Parts) => Parts = (parts) => parts,
): Promise<Replica> => {
  const passwords = await createPasswords();
  const foundation = await openFoundation('identity', config, { clock });
  const parts = altered(await createParts(foundation, config, passwords));
  const { purgeAccounts, resetPassword } = createUseCases(parts, config);
  return {
    parts,
    purge: purgeAccounts,
    close: async () => {
      await resetPassword.close();
      await foundation.cleanup.close();
    },
  };
};

const memberMarked = async ({ parts }: Replica, mark: string): Promise<NewUser> => {
  const id = await parts.sequences.next('users');
  const person = {
    username: `user.${mark}`,
    email: `${mark}@example.org`,
    phone: `+98935${String(id).padStart(7, '0')}`,
    first_name: `first ${mark}`,
    last_name: `last ${mark}`,
  };
  return newMember(id, person, `hash ${mark}`, `C${mark}`, null, parts.clock.now());
};

/** A member whose fields are `mark` wherever a field takes it. */
export const addMember = async (replica: Replica, mark: string): Promise<number> => {
  const { parts } = replica;
  const account = await memberMarked(replica, mark);
  await parts.transact((session) => parts.users.insert(session, account));
  return account._id;
};

/** A member for each mark, due already; all in one transaction. */
export const addDueMembers = async (replica: Replica, marks: readonly string[]): Promise<DueAccount[]> => {
  const { parts } = replica;
  const scheduledAt = new Date(Math.floor(parts.clock.now().getTime() / 1_000) * 1_000);
  const pending = { deletion_requested_at: scheduledAt, deletion_scheduled_at: scheduledAt };
  const members = await Promise.all(marks.map((mark) => memberMarked(replica, mark)));
  await parts.transact(async (session) => {
    for (const member of members) await parts.users.insert(session, { ...member, ...pending });
  });
  return members.map(({ _id: userId }) => ({ userId, scheduledAt }));
};

/** Its grace period was over `sinceMs` ago. */
export const makeDue = async ({ parts }: Replica, userId: number, sinceMs = 60_000): Promise<Date> => {
  const scheduledAt = new Date(Math.floor((parts.clock.now().getTime() - sinceMs) / 1_000) * 1_000);
  const requestedAt = new Date(scheduledAt.getTime() - 14 * DAY_MS);
  await parts.transact((session) =>
    parts.users.scheduleDeletion(session, userId, { requestedAt, scheduledAt }),
  );
  return scheduledAt;
};

export const accountOf = (world: World, id: number) =>
  world.database.collection('users').findOne({ _id: id as never });

export const notificationsOf = (world: World, id: number) =>
  world.database.collection('notifications').find({ user_id: id }).sort({ _id: 1 }).toArray();
