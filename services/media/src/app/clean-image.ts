import { Readable } from 'node:stream';
import { invalid, type Message, message } from '@fitness/shared/kernel/error.ts';
import type { ImageRefusal } from '../clients/images.ts';
import type { Dependencies } from '../dependencies.ts';
import {
  isImage,
  MAX_IMAGE_FRAMES,
  MAX_IMAGE_PIXELS,
  MAX_IMAGE_ROWS,
  MAX_IMAGE_SIDE,
} from '../domain/file-types.ts';
import type { StoredFile } from '../domain/media.ts';

const MEGAPIXELS = Math.floor(MAX_IMAGE_PIXELS / 1_000_000);
const REFUSALS: Readonly<Record<ImageRefusal, Message>> = {
  unreadable: message('validation.image_unreadable'),
  too_large: message('validation.image_pixels', { max: MEGAPIXELS }),
  side_too_long: message('validation.image_side', { max: MAX_IMAGE_SIDE }),
  frames_too_high: message('validation.image_rows', { max: MAX_IMAGE_ROWS }),
  too_many_frames: message('validation.image_frames', { max: MAX_IMAGE_FRAMES }),
};

/**
 * Replaces a received image by one without metadata, turned according to its orientation. Other files stay unchanged, and so does a
 * file with only the first bytes of an image: nothing can display it, and it contains no metadata. Throws 422 under `file` for an
 * image that cannot be decoded. Nothing remains stored when it fails.
 */
export const createCleanImage = ({ storage, images }: Dependencies) => {
  const clean = async (file: StoredFile, mimeType: string, owner: string): Promise<StoredFile> => {
    const content = await images.render({ open: () => storage.openReceived(file), mimeType, owner });
    if (content === 'no_image') return file;
    if (typeof content === 'string') throw invalid({ file: REFUSALS[content] });
    return storage.receive(Readable.from([content]));
  };
  return async (file: StoredFile, mimeType: string, owner: string): Promise<StoredFile> => {
    if (!isImage(mimeType)) return file;
    let cleaned: StoredFile | undefined;
    try {
      cleaned = await clean(file, mimeType, owner);
      return cleaned;
    } finally {
      if (cleaned !== file) await storage.discard(file);
    }
  };
};
