/** Uploading (contract 6): the file is already stored whole; the row, the replaced row and the events commit together. */
import { mediaAttached, mediaDeleted } from '@fitness/proto/events/media.ts';
import { can, type UserCaller } from '@fitness/shared/caller.ts';
import type { Clock } from '@fitness/shared/clock.ts';
import { forbidden, invalid, message } from '@fitness/shared/error.ts';
import type { Outbox } from '@fitness/shared/events/outbox.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { Sequences } from '@fitness/shared/mongo/sequence.ts';
import { isDuplicateKey } from '@fitness/shared/mongo/transaction.ts';
import type { Licences } from '../clients/licences.ts';
import type { Storage } from '../clients/storage.ts';
import type { Targets } from '../clients/targets.ts';
import {
  type AttachableKind,
  attachableKind,
  PURPOSES,
  type Purpose,
  TYPE_BY_KIND,
} from '../domain/attachable.ts';
import type { MediaRow, StoredFile } from '../domain/media.ts';
import type { MediaStore } from '../store/media.ts';

export interface AttachFileParts {
  media: MediaStore;
  storage: Storage;
  targets: Targets;
  licences: Licences;
  sequences: Sequences;
  outbox: Outbox;
  clock: Clock;
  transact: <T>(work: (session: ClientSession) => Promise<T>) => Promise<T>;
}

export interface Attachment {
  attachableType: string;
  attachableId: number;
  purpose: Purpose | undefined;
  filename: string;
  mimeType: string;
}

export interface AttachFile {
  /** 422 for an unknown target or a purpose that does not fit it; 403 for somebody else's target. */
  authorize(
    caller: UserCaller,
    to: Pick<Attachment, 'attachableType' | 'attachableId' | 'purpose'>,
  ): Promise<void>;
  attach(caller: UserCaller, attachment: Attachment, file: StoredFile): Promise<MediaRow>;
}

const PAIR_ATTEMPTS = 5;

export const createAttachFile = (parts: AttachFileParts): AttachFile => ({
  authorize: async (caller, { attachableType, attachableId, purpose }) => {
    const kind = attachableKind(attachableType);
    if (kind === undefined) throw invalid({ attachable_type: message('validation.invalid') });
    if (purpose !== undefined && PURPOSES[purpose].kind !== kind) {
      throw invalid({ purpose: message('validation.invalid') });
    }
    const target = await parts.targets.find(kind, attachableId);
    if (target === undefined) throw invalid({ attachable_id: message('validation.unknown') });
    if (target.ownerId === caller.userId) return;
    // A private document is handed in by the one whom it concerns, and by nobody for him.
    if (purpose === undefined && can(caller, target.editPermission)) return;
    throw forbidden();
  },

  attach: async (caller, attachment, file) => {
    const kind = attachableKind(attachment.attachableType) as AttachableKind;
    const row: MediaRow = {
      _id: await parts.sequences.next('media'),
      attachable_type: TYPE_BY_KIND[kind],
      attachable_id: attachment.attachableId,
      purpose: attachment.purpose ?? null,
      filename: attachment.filename,
      mime_type: attachment.mimeType,
      size: file.size,
      sha256: file.sha256,
      storage_key: file.key,
      uploaded_by: caller.userId,
      created_at: parts.clock.now(),
    };
    const replaced = await insertReplacing(parts, row);
    if (replaced !== null) await parts.storage.delete(replaced.storage_key);
    await parts.licences.tell(row);
    return row;
  },
});

/** Two uploads of one document at once: the later one replaces the earlier, whichever that is. */
const insertReplacing = async (parts: AttachFileParts, row: MediaRow): Promise<MediaRow | null> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await parts.transact((session) => replace(parts, session, row));
    } catch (error) {
      if (!isDuplicateKey(error) || attempt >= PAIR_ATTEMPTS) throw error;
    }
  }
};

const replace = async (
  { media, outbox }: AttachFileParts,
  session: ClientSession,
  row: MediaRow,
): Promise<MediaRow | null> => {
  const replaced = row.purpose === null ? null : await media.deleteByPurpose(session, row, row.purpose);
  if (replaced !== null) {
    await outbox.emit(session, mediaDeleted, {
      subject: replaced._id,
      aggregateVersion: 2,
      data: toEvent(replaced),
    });
  }
  await media.insert(session, row);
  await outbox.emit(session, mediaAttached, { subject: row._id, aggregateVersion: 1, data: toEvent(row) });
  return replaced;
};

export const toEvent = ({ _id, attachable_type, attachable_id, purpose, filename }: MediaRow) => ({
  media_id: _id,
  attachable_type,
  attachable_id,
  purpose,
  filename,
});
