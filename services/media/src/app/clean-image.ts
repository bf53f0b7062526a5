import { Readable } from 'node:stream';
import { invalid, type Message, message } from '@fitness/shared/kernel/error.ts';
import type { ImageRefusal } from '../clients/images.ts';
import type { Dependencies } from '../dependencies.ts';
import { isImage, MAX_IMAGE_PIXELS } from '../domain/file-types.ts';
import type { StoredFile } from '../domain/media.ts';

const MEGAPIXELS = Math.floor(MAX_IMAGE_PIXELS / 1_000_000);
const REFUSALS: Readonly<Record<ImageRefusal, Message>> = {
  unreadable: message('validation.image_unreadable'),
  too_large: message('validation.image_pixels', { max: MEGAPIXELS }),
};

/**
 * Replaces a received image by one without metadata, its pixels turned as its orientation says; other files stay as they
 * are. Throws 422 under `file` for an image that cannot be decoded; nothing remains stored when it fails.
 */
export const createCleanImage =
  ({ storage, images }: Pick<Dependencies, 'storage' | 'images'>) =>
  async (file: StoredFile, mimeType: string, owner: string): Promise<StoredFile> => {
    if (!isImage(mimeType)) return file;
    try {
      const content = await images.render({ open: () => storage.openReceived(file), mimeType, owner });
      if (typeof content === 'string') throw invalid({ file: REFUSALS[content] });
      return await storage.receive(Readable.from([content]));
    } finally {
      await storage.discard(file);
    }
  };
