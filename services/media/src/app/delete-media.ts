import type { UserCaller } from '@fitness/shared/caller.ts';
import { forbidden, notFound } from '@fitness/shared/error.ts';
import type { Outbox } from '@fitness/shared/events/outbox.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Targets } from '../clients/targets.ts';
import { attachableKind } from '../domain/attachable.ts';
import type { MediaRow, Target } from '../domain/media.ts';
import type { MediaStore } from '../store/media.ts';
import type { DropFiles } from './drop-files.ts';
import { mayEdit } from './may-edit.ts';
import { tellDeleted } from './tell.ts';

export interface DeleteMediaParts {
  media: MediaStore;
  targets: Targets;
  outbox: Outbox;
  dropFiles: DropFiles;
  transact: <T>(work: (session: ClientSession) => Promise<T>) => Promise<T>;
}

export interface DeleteMedia {
  /** By its target's owner, or who may edit any such target: 404 or 403 else. */
  byId(caller: UserCaller, id: number): Promise<void>;
  /** The document of a purpose, unless its id is larger than `upTo`; false when there is none. */
  byPurpose(target: Target, purpose: string, upTo?: number): Promise<boolean>;
}

type Take = (session: ClientSession) => Promise<MediaRow | null>;

export const createDeleteMedia = (parts: DeleteMediaParts): DeleteMedia => {
  const { media, targets, outbox, dropFiles, transact } = parts;
  const remove = async (take: Take): Promise<boolean> => {
    const row = await transact(async (session) => {
      const taken = await take(session);
      if (taken !== null) await tellDeleted(outbox, session, taken);
      return taken;
    });
    if (row !== null) await dropFiles([row]);
    return row !== null;
  };
  return {
    byId: async (caller, id) => {
      const row = await media.findById(id);
      if (row === null) throw notFound();
      const kind = attachableKind(row.attachable_type);
      const target = kind === undefined ? undefined : await targets.find(kind, row.attachable_id);
      // Its files go as soon as media hears that it is gone.
      if (target === undefined) throw notFound();
      if (!mayEdit(caller, target)) throw forbidden();
      if (!(await remove((session) => media.delete(session, id)))) throw notFound();
    },
    byPurpose: (target, purpose, upTo) =>
      remove((session) => media.deleteByPurpose(session, target, purpose, upTo)),
  };
};
