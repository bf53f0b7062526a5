/** What may be uploaded (contract 6), judged by its bytes. Never anything that a browser would run. */
export const MAX_FILE_BYTES = 25 * 1024 * 1024;

/** With what a file must begin where fewer bytes would do to guess its type; null where they say enough. */
const BEGINNINGS: Readonly<Record<string, RegExp | null>> = {
  'image/jpeg': null,
  'image/png': null,
  'image/webp': null,
  'image/gif': /^GIF8[79]a/,
  'application/pdf': /^%PDF-\d/,
  'video/mp4': null,
};

/** Whether a file of the type that its bytes were taken for, and that begins with `head`, may be kept. */
export const isAccepted = (mimeType: string, head: Buffer): boolean => {
  if (!Object.hasOwn(BEGINNINGS, mimeType)) return false;
  return BEGINNINGS[mimeType]?.test(head.toString('latin1', 0, 16)) ?? true;
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
