import type { Readable } from 'node:stream';
import type { Caller } from '@fitness/shared/caller.ts';
import { notFound } from '@fitness/shared/error.ts';
import type { Storage } from '../clients/storage.ts';
import type { Targets } from '../clients/targets.ts';
import { FILE_MISSING, type MediaRow } from '../domain/media.ts';
import type { ByteRange } from '../domain/range.ts';
import type { MediaStore } from '../store/media.ts';
import { assertMayDownload } from './may-download.ts';

export interface DownloadFile {
  /** The row, when `caller` may fetch it; throws 401, 403, 404, or `unavailable` when its owner does not answer. */
  find(caller: Caller, id: number): Promise<MediaRow>;
  /** Its bytes. 404 when it was deleted meanwhile. */
  open(row: MediaRow, range: ByteRange | undefined): Promise<Readable>;
}

export interface DownloadFileParts {
  media: MediaStore;
  storage: Storage;
  targets: Targets;
}

export const createDownloadFile = ({ media, storage, targets }: DownloadFileParts): DownloadFile => ({
  find: async (caller, id) => {
    const row = await media.findById(id);
    if (row === null) throw notFound();
    await assertMayDownload(caller, row, targets);
    return row;
  },
  open: (row, range) =>
    storage.open(row.storage_key, range).catch((error: { code?: unknown }) => {
      throw error.code === FILE_MISSING ? notFound() : error;
    }),
});
