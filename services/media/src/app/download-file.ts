import type { Readable } from 'node:stream';
import { siteOf } from '@fitness/shared/http/client-network.ts';
import type { Caller } from '@fitness/shared/kernel/caller.ts';
import { notFound } from '@fitness/shared/kernel/error.ts';
import type { Dependencies } from '../dependencies.ts';
import { FILE_MISSING, type MediaRow } from '../domain/media.ts';
import type { ByteRange } from '../domain/range.ts';
import { createFindVariant } from './find-variant.ts';
import { assertMayDownload } from './may-download.ts';

export interface DownloadFile {
  /**
   * The row, for a caller that may download it; with `smaller` and of an image, with the file of the smaller image. Throws
   * 401, 403, 404, or 503 when the target's service is down.
   */
  find(caller: Caller, id: number, smaller?: { width: number; clientAddress: string }): Promise<MediaRow>;
  /** The bytes; throws 404 when the file was deleted after `find`. */
  open(row: MediaRow, range: ByteRange | undefined): Promise<Readable>;
}

export const createDownloadFile = (
  dependencies: Pick<Dependencies, 'store' | 'storage' | 'targets' | 'images' | 'log'>,
): DownloadFile => {
  const { store, storage, targets } = dependencies;
  const findVariant = createFindVariant(dependencies);
  return {
    find: async (caller, id, smaller) => {
      const row = await store.media.find(id);
      if (row === undefined) throw notFound();
      await assertMayDownload(caller, row, targets);
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
