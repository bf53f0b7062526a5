const ELLIPSIS = '…';
const characters = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** `text` in at most `maxBytes` of UTF-8. A cut text ends with a whole character and an ellipsis. */
export const cutText = (text: string, maxBytes: number): string => {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  const room = new Uint8Array(maxBytes - Buffer.byteLength(ELLIPSIS));
  const { read } = new TextEncoder().encodeInto(text, room);
  const end = characters.segment(text).containing(read)?.index ?? read;
  return `${text.slice(0, end)}${ELLIPSIS}`;
};
