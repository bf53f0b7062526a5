/** What may be uploaded (contract 6), judged by its bytes. Never anything that a browser would run. */
export const MAX_FILE_BYTES = 25 * 1024 * 1024;

/**
 * With what a file of each type must begin, at its very first byte. What guesses the type passes over a byte order mark
 * and the tags of a song, and needs no more than a part of some of these: HTML could stand before them.
 */
const BEGINNINGS: Readonly<Record<string, (head: string) => boolean>> = {
  'image/jpeg': (head) => head.startsWith('\xff\xd8\xff'),
  'image/png': (head) => head.startsWith('\x89PNG\r\n\x1a\n'),
  'image/webp': (head) => head.startsWith('RIFF') && head.startsWith('WEBP', 8),
  'image/gif': (head) => /^GIF8[79]a/.test(head),
  'application/pdf': (head) => /^%PDF-\d/.test(head),
  // The first box has a length: no text begins with its zeros.
  'video/mp4': (head) => head.startsWith('\0\0') && head.startsWith('ftyp', 4),
};

/** A PNG that moves is a PNG, with a picture for who knows no better. */
const ALSO_CALLED = new Map([['image/apng', 'image/png']]);

/** The type of a file that begins with `head` and was `taken` for one; undefined when it may not be kept. */
export const acceptedType = (taken: string | undefined, head: Buffer): string | undefined => {
  const type = ALSO_CALLED.get(taken ?? '') ?? taken ?? '';
  const begins = Object.hasOwn(BEGINNINGS, type) ? BEGINNINGS[type] : undefined;
  return begins?.(head.toString('latin1', 0, 16)) === true ? type : undefined;
};

/** So many bytes at the beginning are enough to tell. */
export const SNIFF_BYTES = 4_100;

const MAX_NAME_CHARACTERS = 200;

/**
 * The name that the client gave, as it may be shown and put into a link: no path, no control characters, no
 * direction marks that make `fdp.exe` look like a document. Any script is kept.
 */
export const cleanFilename = (given: string | undefined): string => {
  const base = (given ?? '').normalize('NFC').split(/[\\/]/).at(-1) ?? '';
  const visible = base.replaceAll(/[\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029]/gu, '').trim();
  const shortened = Array.from(visible).slice(0, MAX_NAME_CHARACTERS).join('');
  return shortened === '' || /^\.+$/.test(shortened) ? 'file' : shortened;
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
