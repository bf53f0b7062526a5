import { mediaDeleted } from '@fitness/proto/events/media.ts';
import { can, type UserCaller } from '@fitness/shared/caller.ts';
import { forbidden, notFound } from '@fitness/shared/error.ts';
import type { Outbox } from '@fitness/shared/events/outbox.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Storage } from '../clients/storage.ts';
import type { Targets } from '../clients/targets.ts';
import { attachableKind } from '../domain/attachable.ts';
import type { Target } from '../domain/media.ts';
import type { MediaStore } from '../store/media.ts';
import { toEvent } from './attach-file.ts';

export interface DeleteMediaParts {
  media: MediaStore;
  storage: Storage;
  targets: Targets;
  outbox: Outbox;
  transact: <T>(work: (session: ClientSession) => Promise<T>) => Promise<T>;
}

export interface DeleteMedia {
  /** By its target's owner, or who may edit any such target: 404 or 403 else. */
  byId(caller: UserCaller, id: number): Promise<void>;
  /** The document of a purpose, unless its id is larger than `upTo`; false when there is none. */
  byPurpose(target: Target, purpose: string, upTo?: number): Promise<boolean>;
}

export const createDeleteMedia = ({
  media,
  storage,
  targets,
  outbox,
  transact,
}: DeleteMediaParts): DeleteMedia => {
  const remove = async (
    take: (session: ClientSession) => ReturnType<MediaStore['delete']>,
  ): Promise<boolean> => {
    const row = await transact(async (session) => {
      const taken = await take(session);
      if (taken === null) return null;
      await outbox.emit(session, mediaDeleted, {
        subject: taken._id,
        aggregateVersion: 2,
        data: toEvent(taken),
      });
      return taken;
    });
    // Behind the commit: a crash here leaves a file without a row, which the sweeper finds.
    if (row !== null) await storage.delete(row.storage_key);
    return row !== null;
  };
  return {
    byId: async (caller, id) => {
      const row = await media.findById(id);
      if (row === null) throw notFound();
      const kind = attachableKind(row.attachable_type);
      const target = kind === undefined ? undefined : await targets.find(kind, row.attachable_id);
      const allowed =
        target === undefined
          ? row.uploaded_by === caller.userId
          : target.ownerId === caller.userId || can(caller, target.editPermission);
      if (!allowed) throw forbidden();
      await remove((session) => media.delete(session, id));
    },
    byPurpose: (target, purpose, upTo) =>
      remove((session) => media.deleteByPurpose(session, target, purpose, upTo)),
  };
};
