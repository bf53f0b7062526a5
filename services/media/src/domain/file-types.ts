/** Accepted file types, checked by content. Browsers execute none of them. */
import { isVisible } from '@fitness/shared/kernel/refinements.ts';

export const MAX_FILE_BYTES = 25 * 1024 * 1024;

/**
 * The signature of each type, from the first byte of the file. The type detection skips a byte order mark and ID3 tags, and checks
 * only a part of some signatures, so HTML could precede them.
 */
const SIGNATURES: Readonly<Record<string, (head: string) => boolean>> = {
  'image/jpeg': (head) => head.startsWith('\xff\xd8\xff'),
  'image/png': (head) => head.startsWith('\x89PNG\r\n\x1a\n'),
  'image/webp': (head) => head.startsWith('RIFF') && head.startsWith('WEBP', 8),
  'image/gif': (head) => /^GIF8[79]a/.test(head),
  'application/pdf': (head) => /^%PDF-\d/.test(head),
  // The first box begins with its length, whose first bytes are zero. No text begins with zeros.
  'video/mp4': (head) => head.startsWith('\0\0') && head.startsWith('ftyp', 4),
};

export const ACCEPTED_TYPES: readonly string[] = Object.keys(SIGNATURES);

/**
 * An animated PNG is a valid PNG. The other types are MP4 with the brands that phones and their apps write
 * (ISO/IEC 14496-12). Apple and 3GPP define these brands.
 */
const TYPE_ALIASES = new Map([
  ['image/apng', 'image/png'],
  ['video/x-m4v', 'video/mp4'],
  ['video/3gpp', 'video/mp4'],
  ['video/3gpp2', 'video/mp4'],
]);

/** The type of a file with the `detected` type and the first bytes `head`. Undefined when it is not accepted. */
export const acceptedType = (detected: string | undefined, head: Buffer): string | undefined => {
  const type = TYPE_ALIASES.get(detected ?? '') ?? detected ?? '';
  const hasSignature = Object.hasOwn(SIGNATURES, type) ? SIGNATURES[type] : undefined;
  return hasSignature?.(head.toString('latin1', 0, 16)) === true ? type : undefined;
};

export const isImage = (mimeType: string): boolean => mimeType.startsWith('image/');

/** Limit for all frames of an image together, against decompression bombs. Phones take photos of 50 megapixels. */
export const MAX_IMAGE_PIXELS = 50 * 1024 * 1024;

/** Decoders work row by row: a tall, narrow image takes a hundred times as long as a wider one with as many pixels. */
export const MAX_IMAGE_SIDE = 16_384;
/** Limit for the rows of all frames together, for the same reason. At widths of 53 and above, the pixel limit is stricter. */
export const MAX_IMAGE_ROWS = 1_000_000;
/** Limit for the frames of an animation. */
export const MAX_IMAGE_FRAMES = 1_000;

/** Widths of smaller images. */
export const VARIANT_WIDTHS = ['320', '640', '1280'] as const;

/** Number of leading bytes that the type detection needs. */
export const SNIFF_BYTES = 4_100;

export const MAX_NAME_CHARACTERS = 120;
/** Shortens a name: a form allows 80 KiB, and normalization takes quadratic time for combining marks. */
const cutName = (name: string): string =>
  name.length > 1_000 ? name.slice(0, 900) + name.slice(-100) : name;
const EXTENSION = /(?<=.)\.[^.\s]{1,15}$/su;

/**
 * The client's file name, safe to show and to use in a link. It has no path, no control characters, and none of the bidirectional
 * marks that make `fdp.exe` look like a document. Letters of any script remain. A long name keeps its extension.
 */
export const cleanFilename = (name: string | undefined): string => {
  const base = (name ?? '').split(/[\\/]/).at(-1) ?? '';
  const visible = cutName(base)
    .normalize('NFC')
    .replaceAll(/[\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029]/gu, '')
    .trim();
  const extension = Array.from(EXTENSION.exec(visible)?.[0] ?? '');
  const stem = Array.from(visible).slice(0, -extension.length || undefined);
  const shortened = [...stem.slice(0, MAX_NAME_CHARACTERS - extension.length), ...extension].join('');
  return !isVisible(shortened) || /^\.+$/.test(shortened) ? 'file' : shortened;
};

/** `Content-Disposition` for any name (RFC 6266, RFC 8187). */
export const attachmentHeader = (filename: string): string => {
  const ascii = filename.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(filename).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
};
