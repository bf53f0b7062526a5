/**
 * Uploading (contract 6). The file waits, judged and whole; it is placed before its row commits, so that a crash leaves
 * a file without a row at worst, which the sweeper finds. The row, the replaced row and the events commit together.
 */
import type { UserCaller } from '@fitness/shared/caller.ts';
import type { Clock } from '@fitness/shared/clock.ts';
import { type AppError, forbidden, invalid, isAppError, message } from '@fitness/shared/error.ts';
import type { Outbox } from '@fitness/shared/events/outbox.ts';
import { MODEL } from '@fitness/shared/models.ts';
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
import type { MediaRow, StoredFile, Target } from '../domain/media.ts';
import type { GateStore } from '../store/gates.ts';
import type { MediaStore } from '../store/media.ts';
import type { DropFiles } from './drop-files.ts';
import { mayEdit, mayEditOwn, maySee } from './may-edit.ts';
import { tellAttached, tellDeleted } from './tell.ts';

export interface AttachFileParts {
  media: MediaStore;
  gates: GateStore;
  storage: Storage;
  dropFiles: DropFiles;
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
  /**
   * 422 for a purpose that does not fit the target, and for a target that is not there or not to be seen by `caller`;
   * 403 for one that he may not change.
   */
  authorize(
    caller: UserCaller,
    to: Pick<Attachment, 'attachableType' | 'attachableId' | 'purpose'>,
  ): Promise<void>;
  /** Takes the waiting `file` over; 422 when the target, or the account of the uploader, has gone meanwhile. */
  attach(caller: UserCaller, attachment: Attachment, file: StoredFile): Promise<MediaRow>;
}

const PAIR_ATTEMPTS = 5;

const unknownTarget = (): AppError => invalid({ attachable_id: message('validation.unknown') });

export const createAttachFile = (parts: AttachFileParts): AttachFile => ({
  authorize: async (caller, { attachableType, attachableId, purpose }) => {
    const kind = attachableKind(attachableType);
    if (kind === undefined) throw invalid({ attachable_type: message('validation.invalid') });
    if (purpose !== undefined && PURPOSES[purpose].kind !== kind) {
      throw invalid({ purpose: message('validation.invalid') });
    }
    const target = await parts.targets.find(kind, attachableId);
    if (target === undefined) throw unknownTarget();
    // A private document is handed in by the one whom it concerns, and by nobody for him.
    const may = purpose === undefined ? mayEdit : mayEditOwn;
    if (may(caller, target)) return;
    throw maySee(caller, target) || mayEdit(caller, target) ? forbidden() : unknownTarget();
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
    for (const target of gatesOf(row)) await parts.gates.prepare(target);
    const replaced = await placeAndInsert(parts, file, row);
    await parts.licences.tell(row);
    if (replaced !== null) await parts.dropFiles([replaced]);
    return row;
  },
});

/** What must be there still when the row is written: the target, and the account whose number the row holds. */
const gatesOf = (row: MediaRow): Target[] => {
  if (row.uploaded_by === null) return [row];
  const uploader = { attachable_type: MODEL.user, attachable_id: row.uploaded_by };
  const isHimself = row.attachable_type === MODEL.user && row.attachable_id === row.uploaded_by;
  return isHimself ? [row] : [row, uploader];
};

const placeAndInsert = async (
  parts: AttachFileParts,
  file: StoredFile,
  row: MediaRow,
): Promise<MediaRow | null> => {
  try {
    await parts.storage.place(file);
    return await insertReplacing(parts, row);
  } catch (error) {
    // Only our own refusal says for sure that nothing was committed: the answer to a commit may be lost. Then the
    // sweeper asks later whether there is a row.
    if (isAppError(error)) await parts.dropFiles([row]);
    throw error;
  }
};

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
  { media, gates, outbox }: AttachFileParts,
  session: ClientSession,
  row: MediaRow,
): Promise<MediaRow | null> => {
  for (const target of gatesOf(row)) if (!(await gates.pass(session, target))) throw unknownTarget();
  const replaced = row.purpose === null ? null : await media.deleteByPurpose(session, row, row.purpose);
  if (replaced !== null) await tellDeleted(outbox, session, replaced);
  await media.insert(session, row);
  await tellAttached(outbox, session, row);
  return replaced;
};
