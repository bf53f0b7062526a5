import { mediaDeleted } from '@fitness/proto/events/media.ts';
import type { Outbox } from '@fitness/shared/events/outbox.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { MediaStore, Target } from '../store/media.ts';

export interface DeleteDocumentParts {
  media: MediaStore;
  outbox: Outbox;
  transact: <T>(work: (session: ClientSession) => Promise<T>) => Promise<T>;
}

/** Deletes the document of a purpose from its target; false when there is none. */
export type DeleteDocument = (target: Target, purpose: string) => Promise<boolean>;

export const createDeleteDocument =
  ({ media, outbox, transact }: DeleteDocumentParts): DeleteDocument =>
  (target, purpose) =>
    transact(async (session) => {
      const row = await media.deleteByPurpose(session, target, purpose);
      if (row === null) return false;
      const { _id, attachable_type, attachable_id, filename } = row;
      await outbox.emit(session, mediaDeleted, {
        subject: _id,
        aggregateVersion: 2,
        data: { media_id: _id, attachable_type, attachable_id, purpose, filename },
      });
      return true;
    });
