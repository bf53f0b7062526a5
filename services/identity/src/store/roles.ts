/** Roles: named sets of permissions. */
import { createTickBatch } from '@fitness/shared/kernel/tick-batch.ts';
import { COMMAND_MAX_MS } from '@fitness/shared/mongo/command-rules.ts';
import { type ClientSession, type Connection, trusted } from '@fitness/shared/mongo/connect.ts';
import { retain, schemaOf } from '@fitness/shared/mongo/privacy.ts';
import { ignoreDuplicate } from '@fitness/shared/mongo/transaction.ts';
import type { Role } from '../domain/roles.ts';
import { guardRevocations, type Revocations } from './revocations.ts';

const schema = schemaOf<Role>(
  { versionKey: false, collection: 'roles' },
  retain('not about a person', {
    _id: Number,
    name: { type: String, required: true },
    title: { type: String, required: true },
    permissions: [String],
  }),
).index({ name: 1 }, { unique: true });

guardRevocations(schema, { subjectOf: () => 'roles', fields: ['permissions'] });

export type Roles = ReturnType<typeof createRoles>;

export const createRoles = (connection: Connection, revocations: Revocations) => {
  const roles = connection.model<Role>('Role', schema);
  const withIds = (ids: number[]) => roles.find({ _id: trusted({ $in: ids }) });
  const readTogether = createTickBatch((ids: number[]) =>
    withIds(ids).maxTimeMS(COMMAND_MAX_MS).lean<Role[]>().exec(),
  );
  return {
    /** Returns all roles in the order of their ids. There are few. */
    findAll: (session?: ClientSession): Promise<Role[]> =>
      roles
        .find()
        .sort({ _id: 1 })
        .session(session ?? null)
        .lean<Role[]>(),

    /** Returns roles in the order of their ids. Outside transactions, callers in the same event loop tick share a query. */
    findMany: async (ids: readonly number[], session?: ClientSession): Promise<Role[]> => {
      if (ids.length === 0) return [];
      const rows =
        session === undefined
          ? await readTogether(ids)
          : await withIds([...ids])
              .session(session)
              .lean<Role[]>();
      return rows.filter(({ _id }) => ids.includes(_id)).toSorted((one, other) => one._id - other._id);
    },

    find: (id: number, session?: ClientSession): Promise<Role | null> =>
      roles.findById(id, null, session && { session }).lean<Role>(),

    findByName: (name: string): Promise<Role | null> => roles.findOne({ name }).lean<Role>(),

    update: (
      session: ClientSession,
      id: number,
      changes: Partial<Pick<Role, 'title' | 'permissions'>>,
    ): Promise<Role | null> => {
      if (changes.permissions !== undefined) revocations.add(session, 'roles');
      return roles
        .findOneAndUpdate({ _id: id }, { $set: changes }, { returnDocument: 'after', session })
        .lean<Role>();
    },

    /** Idempotent, and safe with several replicas. */
    addPermissions: async (
      session: ClientSession,
      id: number,
      permissions: readonly string[],
    ): Promise<void> => {
      const isComplete = { _id: id, permissions: trusted({ $all: [...permissions] }) };
      if ((await roles.exists(isComplete).session(session)) !== null) return;
      revocations.add(session, 'roles');
      const added = { $addToSet: { permissions: { $each: [...permissions] } } };
      await roles.updateOne({ _id: id }, added, { session });
    },

    /** Inserts the missing roles; existing ones stay as they are. Safe with several replicas. */
    seed: async (seeded: readonly Role[]): Promise<void> => {
      for (const role of seeded) {
        if ((await roles.exists({ _id: role._id })) !== null) continue;
        await roles.create(role).catch(ignoreDuplicate);
      }
    },
  };
};
