/** Authorizes uploads and attaches their files. */
import type { TargetCopy } from '@fitness/contracts/media-copy.ts';
import { MODEL } from '@fitness/contracts/model-names.ts';
import type { UserCaller } from '@fitness/shared/kernel/caller.ts';
import { type AppError, forbidden, invalid, isAppError, message } from '@fitness/shared/kernel/error.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import { isOutcomeUnknown } from '@fitness/shared/mongo/transaction.ts';
import type { Dependencies } from '../dependencies.ts';
import {
  type AttachableKind,
  attachableKind,
  MAX_PUBLIC_FILES,
  type Purpose,
  TYPE_BY_KIND,
} from '../domain/attachable.ts';
import type { MediaRow, StoredFile, Target } from '../domain/media.ts';
import { createCleanImage } from './clean-image.ts';
import { createDeleteFiles } from './delete-files.ts';
import { mayEdit, mayEditOwn, maySee } from './may-edit.ts';
import { createCopyMedia, isCopied } from './media-copies.ts';
import { publishAttached, publishDeleted } from './publish.ts';
import { recordAccess } from './record-access.ts';

export interface Attachment {
  attachableType: string;
  attachableId: number;
  purpose: Purpose | undefined;
  filename: string;
  mimeType: string;
  /** The owner of the target at the time the upload was authorized. */
  ownerId: number | undefined;
}

export interface AttachFile {
  /**
   * Throws 422 for a target that does not exist, or that `caller` may not see. Throws 403 for one that they may see but not edit.
   */
  authorize(
    caller: UserCaller,
    to: Pick<Attachment, 'attachableType' | 'attachableId' | 'purpose'>,
  ): Promise<Pick<Attachment, 'ownerId'>>;
  /**
   * Takes ownership of the received `file`. Throws 422 for an image that cannot be decoded, and when the target has the maximum
   * number of public files. Throws 422 when the target or the uploader's account has since been deleted. Throws `outcome_unknown`
   * when the file is stored, but the target's service did not confirm that its lists show it.
   */
  attach(caller: UserCaller, attachment: Attachment, file: StoredFile): Promise<MediaRow>;
}

const unknownTarget = (): AppError => invalid({ attachable_id: message('validation.unknown') });

const tooManyFiles = (max: number): AppError =>
  invalid({ file: message('validation.max_files', { count: max }) });

export const createAttachFile = (dependencies: Dependencies): AttachFile => {
  const { store, storage, targets, licenseOwners, mediaCopies, clock } = dependencies;
  const cleanImage = createCleanImage(dependencies);
  const deleteFiles = createDeleteFiles(dependencies);
  return {
    authorize: async (caller, { attachableType, attachableId, purpose }) => {
      const kind = attachableKind(attachableType);
      if (kind === undefined) throw invalid({ attachable_type: message('validation.invalid') });
      const target = await targets.find(kind, attachableId);
      if (target === undefined) throw unknownTarget();
      // Only the owner may upload a private document. No permission lets anyone else do so.
      const may = purpose === undefined ? mayEdit : mayEditOwn;
      if (may(caller, target)) return { ownerId: target.ownerId };
      throw maySee(caller, target) || mayEdit(caller, target) ? forbidden() : unknownTarget();
    },

    attach: async (caller, attachment, received) => {
      const kind = attachableKind(attachment.attachableType) as AttachableKind;
      const target = { attachable_type: TYPE_BY_KIND[kind], attachable_id: attachment.attachableId };
      // The check in the transaction decides. This one avoids encoding an image that would then be refused.
      if (
        attachment.purpose === undefined &&
        (await store.media.isFull(undefined, target, MAX_PUBLIC_FILES[kind]))
      ) {
        await storage.discard(received);
        throw tooManyFiles(MAX_PUBLIC_FILES[kind]);
      }
      const file = await cleanImage(received, attachment.mimeType, `user:${caller.userId}`);
      const upload: Upload = {
        ...target,
        purpose: attachment.purpose ?? null,
        filename: attachment.filename,
        mime_type: attachment.mimeType,
        size: file.size,
        sha256: file.sha256,
        storage_key: file.key,
        uploaded_by: caller.userId,
        created_at: clock.now(),
      };
      for (const target of guardedTargets(upload)) await store.attachmentGuards.prepare(target);
      let done: Inserted;
      try {
        // Placed before the commit: a crash can leave a file without a row, but never a row without its file.
        await storage.place(file);
        done = await store.transaction((session) =>
          insertReplacing(dependencies, session, upload, {
            maxPublic: MAX_PUBLIC_FILES[kind],
            callerId: caller.userId,
            ownerId: attachment.ownerId,
          }),
        );
      } catch (error) {
        // After any other error the outcome of the commit may be unknown. The sweeper then deletes the file if it has no row.
        if (isAppError(error) && !isOutcomeUnknown(error)) await deleteFiles([upload]);
        throw error;
      }
      await licenseOwners.attach(done.row);
      await deleteFiles(done.replaced);
      if (done.copy !== undefined) await mediaCopies.save(done.copy);
      return done.row;
    },
  };
};

/** A row that has no id yet. */
type Upload = Omit<MediaRow, '_id'>;

/** What must still exist when the row is committed: the target, and the account in `uploaded_by`. */
const guardedTargets = (upload: Upload): Target[] => {
  if (upload.uploaded_by === null) return [upload];
  const uploader = { attachable_type: MODEL.user, attachable_id: upload.uploaded_by };
  const isUploader = upload.attachable_type === MODEL.user && upload.attachable_id === upload.uploaded_by;
  return isUploader ? [upload] : [upload, uploader];
};

interface Insertion {
  maxPublic: number;
  callerId: number;
  ownerId: number | undefined;
}

interface Inserted {
  row: MediaRow;
  replaced: MediaRow[];
  /** Undefined if the row is not copied to the target's service. */
  copy: TargetCopy | undefined;
}

/** When two uploads of one document run concurrently, the later commit replaces the earlier one. */
const insertReplacing = async (
  dependencies: Dependencies,
  session: ClientSession,
  upload: Upload,
  { maxPublic, callerId, ownerId }: Insertion,
): Promise<Inserted> => {
  const { store, sequences, outbox, audit } = dependencies;
  for (const target of guardedTargets(upload)) {
    if (!(await store.attachmentGuards.pass(session, target))) throw unknownTarget();
  }
  // Taken while the guard is locked: the ids of a target's files increase in the order of their commits.
  // The services of licenses rely on this (contracts/license.ts).
  const row: MediaRow = { _id: await sequences.next('media'), ...upload };
  if (row.purpose === null && (await store.media.isFull(session, row, maxPublic))) {
    throw tooManyFiles(maxPublic);
  }
  const replaced = row.purpose === null ? [] : await store.media.deleteByPurpose(session, row, row.purpose);
  for (const old of replaced) await publishDeleted(outbox, session, old);
  await store.media.insert(session, row);
  await publishAttached(outbox, session, row);
  await recordAccess({ store, audit }, session, { action: 'media.upload', callerId, ownerId, row });
  const [copy] = isCopied(row) ? await createCopyMedia(dependencies)([row], session) : [];
  return { row, replaced, copy };
};
