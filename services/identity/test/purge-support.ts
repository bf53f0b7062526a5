/** Replicas of identity without servers and jobs, whose purge a test runs itself, and accounts that are due for deletion. */
import { type Clock, DAY_MS } from '@fitness/shared/kernel/clock.ts';
import { startRelay } from '@fitness/shared/messaging/relay.ts';
import { createServiceRuntime } from '@fitness/shared/runtime/service-runtime.ts';
import { newMember } from '../src/app/accounts/register.ts';
import type { IdentityConfig } from '../src/config.ts';
import { type AllDependencies, createDependencies } from '../src/dependencies.ts';
import type { DueAccount, NewUser } from '../src/store/users.ts';
import { createUseCases, type UseCases } from '../src/use-cases.ts';
import type { Harness } from './support.ts';

export interface Replica {
  dependencies: AllDependencies;
  useCases: UseCases;
  purge: UseCases['purgeAccounts'];
  close(): Promise<void>;
}

/** Opens another replica of the service. `instrument` may wrap the dependencies of its use cases. */
export const openReplica = async (
  config: IdentityConfig,
  clock: Clock,
  instrument: (dependencies: AllDependencies) => AllDependencies = (dependencies) => dependencies,
): Promise<Replica> => {
  const runtime = await createServiceRuntime('identity', config, { clock });
  const dependencies = instrument(await createDependencies(runtime, config));
  const useCases = createUseCases(dependencies);
  const relay = startRelay(runtime);
  runtime.cleanup.defer('outbox relay', () => relay.close());
  return { dependencies, useCases, purge: useCases.purgeAccounts, close: () => runtime.cleanup.close() };
};

const newMarkedMember = async ({ dependencies }: Replica, mark: string): Promise<NewUser> => {
  const id = await dependencies.sequences.next('users');
  const person = {
    username: `user.${mark}`,
    email: `${mark}@example.org`,
    phone: `+98935${String(id).padStart(7, '0')}`,
    first_name: `first ${mark}`,
    last_name: `last ${mark}`,
  };
  return newMember({
    id,
    person,
    passwordHash: `hash ${mark}`,
    referralCode: `C${mark}`,
    referrerId: null,
    createdAt: dependencies.clock.now(),
  });
};

/** Adds a member whose text fields contain `mark`, and returns the id. */
export const addMember = async (replica: Replica, mark: string): Promise<number> => {
  const { store } = replica.dependencies;
  const account = await newMarkedMember(replica, mark);
  await store.transaction((session) => store.users.insert(session, account));
  return account._id;
};

/** Adds a member for each mark, due for deletion now, in one transaction. */
export const addDueMembers = async (replica: Replica, marks: readonly string[]): Promise<DueAccount[]> => {
  const { store, clock } = replica.dependencies;
  const scheduledAt = new Date(Math.floor(clock.now().getTime() / 1_000) * 1_000);
  const pending = { deletion_requested_at: scheduledAt, deletion_scheduled_at: scheduledAt };
  const members = await Promise.all(marks.map((mark) => newMarkedMember(replica, mark)));
  await store.transaction(async (session) => {
    for (const member of members) await store.users.insert(session, { ...member, ...pending });
  });
  return members.map(({ _id: userId }) => ({ userId, scheduledAt }));
};

/** Schedules the deletion for `overdueMs` ago, and returns that date. */
export const makeDue = async (
  { dependencies }: Replica,
  userId: number,
  overdueMs = 60_000,
): Promise<Date> => {
  const { store, clock } = dependencies;
  const scheduledAt = new Date(Math.floor((clock.now().getTime() - overdueMs) / 1_000) * 1_000);
  const requestedAt = new Date(scheduledAt.getTime() - 14 * DAY_MS);
  await store.transaction((session) =>
    store.users.scheduleDeletion(session, userId, { requestedAt, scheduledAt }),
  );
  return scheduledAt;
};

export const accountOf = (harness: Harness, id: number) =>
  harness.database.collection('users').findOne({ _id: id as never });

export const notificationsOf = (harness: Harness, id: number) =>
  harness.database.collection('notifications').find({ user_id: id }).sort({ _id: 1 }).toArray();
