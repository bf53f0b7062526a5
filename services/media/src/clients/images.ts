/** Decodes and encodes images (docs/adr/0041). Only the pixels and the animation of an image are kept. */
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { SECOND_MS } from '@fitness/shared/kernel/clock.ts';
import { unavailable } from '@fitness/shared/kernel/error.ts';
import { createFairQueue } from '@fitness/shared/kernel/fair-queue.ts';
import sharp, { type Metadata, type Sharp, type SharpOptions } from 'sharp';
import { MAX_IMAGE_FRAMES, MAX_IMAGE_PIXELS, MAX_IMAGE_ROWS, MAX_IMAGE_SIDE } from '../domain/file-types.ts';

interface ImageSource {
  /** Opens the content, which is at most as long as an upload. */
  open(): Promise<Readable>;
  mimeType: string;
  /** Who the image is encoded for: one image per owner at a time. */
  owner: string;
}

/** Why an image is refused: it cannot be decoded, or it exceeds the limit of pixels, frames, sides or rows. */
export type ImageRefusal =
  | 'unreadable'
  | 'too_large'
  | 'too_many_frames'
  | 'side_too_long'
  | 'frames_too_high';

/** A file whose header no decoder can read, and that contains none of {@link METADATA_MARKERS}. */
type NoImage = 'no_image';

export interface Images {
  /**
   * Returns the image in the same format, without metadata and turned upright. It is at most `maxWidth` wide.
   * Throws `unavailable` when the process has too many images to encode.
   */
  render(source: ImageSource, maxWidth?: number): Promise<Buffer | ImageRefusal | NoImage>;
}

/** Number of images encoded at once: one for each of two processors. The others wait, and their owners take turns. */
const JOBS = 2;
/**
 * Longest wait, after which an image is refused. A user may upload twenty photos at once, and they are encoded one by one.
 */
const WAIT_MS = 25 * SECOND_MS;
const TIMEOUT_S = 15;

const DECODERS = ['Jpeg', 'Png', 'Webp', 'Nsgif'].map((format) => `VipsForeignLoad${format}Buffer`);
const ANIMATED = new Set(['image/gif', 'image/webp']);
/** Markers of EXIF, XMP and IPTC in segments of JPEG, chunks of PNG and WebP, and extensions of GIF. */
const METADATA_MARKERS = [
  'Exif\0\0',
  'eXIf',
  'EXIF',
  'XMP ',
  'XML:com.adobe.xmp',
  'http://ns.adobe.com/xap/',
  'Photoshop 3.0',
  'Raw profile type ',
];
/** Quality of JPEG and WebP. It is higher for originals, because smaller images are encoded from them again. */
const QUALITY = { original: 90, smaller: 80 };

export const createImages = ({ waitMs = WAIT_MS } = {}): Images => {
  sharp.cache(false);
  sharp.concurrency(1);
  // Only decoders of accepted types are enabled, so flaws in other decoders cannot be reached.
  sharp.block({ operation: ['VipsForeignLoad'] });
  sharp.unblock({ operation: DECODERS });
  const jobs = createFairQueue({ maxRunning: JOBS, maxPerOwner: 1, maxWaitMs: waitMs });
  // Decoded images take up to nine bytes per pixel, so two large ones are not decoded together.
  const pixels = createSlots(MAX_IMAGE_PIXELS, waitMs);
  return {
    render: ({ open, mimeType, owner }, maxWidth) =>
      jobs(owner, async () => {
        const content = await buffer(await open());
        const metadata = await readMetadata(content, mimeType);
        if (typeof metadata === 'string') return metadata;
        return pixels(pixelsOf(metadata), () => encode(content, metadata, mimeType, maxWidth));
      }),
  };
};

const optionsFor = (mimeType: string): SharpOptions => ({
  animated: ANIMATED.has(mimeType),
  // The existing part of a truncated image is shown, as in browsers.
  failOn: 'none',
});

/** Reads only the header, so an image with too many pixels is cheap to refuse. */
const readMetadata = async (
  content: Buffer,
  mimeType: string,
): Promise<Metadata | ImageRefusal | NoImage> => {
  try {
    const metadata = await sharp(content, { ...optionsFor(mimeType), limitInputPixels: false }).metadata();
    if (`image/${metadata.format}` !== mimeType) return 'unreadable';
    return refusalOf(metadata) ?? metadata;
  } catch {
    return METADATA_MARKERS.some((marker) => content.includes(marker)) ? 'unreadable' : 'no_image';
  }
};

const refusalOf = (metadata: Metadata): ImageRefusal | undefined => {
  const { width, height, pages = 1, pageHeight = height } = metadata;
  if (pages > MAX_IMAGE_FRAMES) return 'too_many_frames';
  if (pixelsOf(metadata) > MAX_IMAGE_PIXELS) return 'too_large';
  if (Math.max(width, pageHeight) > MAX_IMAGE_SIDE) return 'side_too_long';
  return height > MAX_IMAGE_ROWS ? 'frames_too_high' : undefined;
};

/** The pixels of all frames, which lie one below the other. */
const pixelsOf = ({ width, height }: Metadata): number => width * height;

const encode = async (
  content: Buffer,
  metadata: Metadata,
  mimeType: string,
  maxWidth: number | undefined,
): Promise<Buffer | ImageRefusal> => {
  const options = { ...optionsFor(mimeType), limitInputPixels: MAX_IMAGE_PIXELS };
  const { pages = 1, orientation = 1, delay, loop } = metadata;
  try {
    const isTurnedAnimation = pages > 1 && orientation > 1;
    const image = isTurnedAnimation
      ? await turnAnimation(sharp(content, options), metadata)
      : sharp(content, options).autoOrient();
    if (maxWidth !== undefined) image.resize({ width: maxWidth, withoutEnlargement: true });
    const quality = maxWidth === undefined ? QUALITY.original : QUALITY.smaller;
    const animation = isTurnedAnimation ? { delay, loop } : {};
    return await toFormat(image, mimeType, quality, animation).timeout({ seconds: TIMEOUT_S }).toBuffer();
  } catch (error) {
    // The image is to blame for neither, because its size is limited.
    if (/^timeout|memory/i.test((error as Error).message)) throw unavailable('images', error);
    return 'unreadable';
  }
};

const toFormat = (
  image: Sharp,
  mimeType: string,
  quality: number,
  animation: { delay?: number[] | undefined; loop?: number | undefined },
): Sharp => {
  const timing = {
    ...(animation.delay === undefined ? {} : { delay: animation.delay }),
    ...(animation.loop === undefined ? {} : { loop: animation.loop }),
  };
  // With less effort than the default, files are slightly larger, but encoding takes a fraction of the time.
  if (mimeType === 'image/webp') return image.webp({ quality, effort: 2, ...timing });
  if (mimeType === 'image/gif') return image.gif({ effort: 3, ...timing });
  return mimeType === 'image/png' ? image.png() : image.jpeg({ quality });
};

type Turn = (frame: Sharp) => Sharp;
/** Keyed by the EXIF orientation. A mirror is applied before the rotation. */
const TURNS: Readonly<Record<number, Turn>> = {
  2: (frame) => frame.flop(),
  3: (frame) => frame.rotate(180),
  4: (frame) => frame.flip(),
  5: (frame) => frame.flop().rotate(270),
  6: (frame) => frame.rotate(90),
  7: (frame) => frame.flop().rotate(90),
  8: (frame) => frame.rotate(270),
};

/** Turns each frame of an animation. libvips would turn all frames as one image, one below the other. */
const turnAnimation = async (animation: Sharp, metadata: Metadata): Promise<Sharp> => {
  const { width, height, pageHeight = height, orientation = 1 } = metadata;
  const turn: Turn = TURNS[orientation] ?? ((frame) => frame);
  const { data, info } = await animation
    .raw()
    .timeout({ seconds: TIMEOUT_S })
    .toBuffer({ resolveWithObject: true });
  const { channels } = info;
  const bytes = width * pageHeight * channels;
  for (let at = 0; at < data.length; at += bytes) {
    const frame = data.subarray(at, at + bytes);
    const turned = await turn(sharp(frame, { raw: { width, height: pageHeight, channels } }))
      .raw()
      .toBuffer();
    turned.copy(frame);
  }
  const isUpright = orientation <= 4;
  const [frameWidth, frameHeight] = isUpright ? [width, pageHeight] : [pageHeight, width];
  const frames = data.length / bytes;
  return sharp(data, {
    raw: { width: frameWidth, height: frameHeight * frames, pageHeight: frameHeight, channels },
  });
};

type Slots = <T>(weight: number, work: () => Promise<T>) => Promise<T>;

/** Starts work in order, while the sum of the running weights is at most `limit`. */
const createSlots = (limit: number, waitMs: number): Slots => {
  const waiting: { weight: number; start: () => void }[] = [];
  let free = limit;
  const advance = (): void => {
    for (let next = waiting[0]; next !== undefined && next.weight <= free; next = waiting[0]) {
      waiting.shift();
      free -= next.weight;
      next.start();
    }
  };
  return async (weight, work) => {
    await new Promise<void>((resolve, reject) => {
      const waiter = {
        weight,
        start: () => {
          clearTimeout(late);
          resolve();
        },
      };
      const late = setTimeout(() => {
        waiting.splice(waiting.indexOf(waiter), 1);
        reject(unavailable('images: too many are waiting'));
        advance();
      }, waitMs);
      waiting.push(waiter);
      advance();
    });
    try {
      return await work();
    } finally {
      free += weight;
      advance();
    }
  };
};
