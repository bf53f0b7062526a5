import { Readable } from 'node:stream';
import { notFound } from '@fitness/shared/kernel/error.ts';
import { outsideRequest } from '@fitness/shared/kernel/request-scope.ts';
import type { Dependencies } from '../dependencies.ts';
import { isImage } from '../domain/file-types.ts';
import { FILE_MISSING, type MediaRow, type Variant } from '../domain/media.ts';

/** Returns the row with the file of a smaller image. For `owner`, see `Images`. */
type FindVariant = (row: MediaRow, width: number, owner: string) => Promise<MediaRow>;

/**
 * Creates the smaller image at its first request, which concurrent requests share. Returns the unchanged row for other files and
 * for images that cannot be decoded. Throws 404 when the file was deleted meanwhile.
 */
export const createFindVariant = (
  dependencies: Pick<Dependencies, 'store' | 'storage' | 'images' | 'log'>,
): FindVariant => {
  const underWay = new Map<string, Promise<Variant | undefined>>();
  const shared = (row: MediaRow, width: number, owner: string): Promise<Variant | undefined> => {
    const key = `${row._id}:${width}`;
    const pending = underWay.get(key);
    if (pending !== undefined) return pending;
    // Several requests wait for it, so the deadline of the first request must not apply to the others.
    const made = outsideRequest(() => makeVariant(dependencies, row, width, owner)).finally(() =>
      underWay.delete(key),
    );
    underWay.set(key, made);
    return made;
  };
  return async (row, width, owner) => {
    if (!isImage(row.mime_type)) return row;
    const stored =
      row.variants?.find((variant) => variant.width === width) ?? (await shared(row, width, owner));
    if (stored === undefined) return row;
    return { ...row, size: stored.size, sha256: stored.sha256, storage_key: stored.storage_key };
  };
};

/** Undefined for an image that cannot be decoded. */
const makeVariant = async (
  { store, storage, images, log }: Pick<Dependencies, 'store' | 'storage' | 'images' | 'log'>,
  row: MediaRow,
  width: number,
  owner: string,
): Promise<Variant | undefined> => {
  const open = (): Promise<Readable> =>
    storage.open(row.storage_key).catch((error: { code?: unknown }) => {
      throw error.code === FILE_MISSING ? notFound() : error;
    });
  const content = await images.render({ open, mimeType: row.mime_type, owner }, width);
  if (typeof content === 'string') return undefined;
  const file = await storage.receive(Readable.from([content]));
  // Placed before the row names it: a crash can leave a file without a row, which the sweeper deletes.
  await storage.place(file);
  const variant = { width, size: file.size, sha256: file.sha256, storage_key: file.key };
  const stored = await store.media.addVariant(row._id, variant);
  if (stored?.storage_key !== file.key) {
    // Another replica was faster, or the row was deleted.
    await storage.delete(file.key).catch((error: unknown) => {
      log.warn({ err: error, media_id: row._id }, 'a file without a row is left to the sweeper');
    });
  }
  if (stored === undefined) throw notFound();
  return stored;
};
