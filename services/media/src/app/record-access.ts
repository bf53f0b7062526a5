/** Audit entries for what operators do with the files of others. */
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Dependencies } from '../dependencies.ts';
import type { MediaRow } from '../domain/media.ts';

interface Access {
  action: 'media.upload' | 'media.delete' | 'document.view';
  callerId: number;
  /** Owner of the file's target. */
  ownerId: number | undefined;
  row: MediaRow;
}

/** Records nothing for the caller's own target. */
export const recordAccess = async (
  { store, audit }: Pick<Dependencies, 'store' | 'audit'>,
  session: ClientSession,
  { action, callerId, ownerId, row }: Access,
): Promise<void> => {
  if (callerId === ownerId) return;
  const { attachable_type, attachable_id, purpose, filename, mime_type, size } = row;
  const state = {
    personId: ownerId ?? null,
    values: { attachable_type, attachable_id, purpose, filename, mime_type, size },
  };
  await audit.record(session, {
    actorId: callerId,
    action,
    subject: { type: 'media', id: row._id },
    ...(action === 'media.delete' ? { before: state } : { after: state }),
    isPersonal: store.media.isPersonal,
  });
};
