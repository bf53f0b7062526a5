import type { Readable } from 'node:stream';
import { siteOf } from '@fitness/shared/http/client-network.ts';
import type { Caller } from '@fitness/shared/kernel/caller.ts';
import { notFound } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import { FILE_MISSING, type MediaRow } from '../domain/media.ts';
import type { ByteRange } from '../domain/range.ts';
import { createFindVariant } from './find-variant.ts';
import { assertMayDownload } from './may-download.ts';
import { recordAccess } from './record-access.ts';

export interface DownloadFile {
  /**
   * Returns the row for a caller that may download it. For an image with `smaller`, the row has the file of the smaller image.
   * Throws 401, 403, 404, or 503 when the target's service is down.
   */
  find(caller: Caller, id: number, smaller?: { width: number; clientAddress: string }): Promise<MediaRow>;
  /** Returns the bytes. Throws 404 when the file was deleted after `find`. */
  open(row: MediaRow, range: ByteRange | undefined): Promise<Readable>;
}

/**
 * Runs before any part of the document is sent: a document whose view cannot be recorded is not shown. Requests without bytes in the
 * response, such as HEAD, are recorded too.
 */
const recordView = (
  dependencies: Pick<Dependencies, 'store' | 'audit'>,
  row: MediaRow,
  { reader, target }: NonNullable<Awaited<ReturnType<typeof assertMayDownload>>>,
): Promise<void> =>
  dependencies.store.transaction(
    (session) =>
      recordAccess(dependencies, session, {
        action: 'document.view',
        callerId: reader.userId,
        ownerId: target.ownerId,
        row,
      }),
    { isEffect: false },
  );

export const createDownloadFile = (
  dependencies: Pick<Dependencies, 'store' | 'storage' | 'targets' | 'images' | 'audit' | 'log'>,
): DownloadFile => {
  const { store, storage, targets } = dependencies;
  const findVariant = createFindVariant(dependencies);
  return {
    find: async (caller, id, smaller) => {
      const row = await store.media.find(id);
      if (row === undefined) throw notFound();
      const document = await assertMayDownload(caller, row, targets);
      if (document !== undefined && document.reader.userId !== document.target.ownerId)
        await recordView(dependencies, row, document);
      return smaller === undefined
        ? row
        : findVariant(row, smaller.width, `address:${siteOf(smaller.clientAddress)}`);
    },
    open: (row, range) =>
      storage.open(row.storage_key, range).catch((error: { code?: unknown }) => {
        throw error.code === FILE_MISSING ? notFound() : error;
      }),
  };
};
