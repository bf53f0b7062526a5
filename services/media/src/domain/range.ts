/** Byte ranges of a file (RFC 9110, section 14). */
export interface ByteRange {
  start: number;
  /** Inclusive. */
  end: number;
}

/** More pieces than any player or download tool asks for at once. */
const MAX_RANGES = 16;
const UNIT = /^bytes\s*=(.*)$/i;
const SPECIFIER = /^(\d*)-(\d*)$/;

/**
 * The pieces that are asked for, in the order of the request. Undefined: the whole file, because no range was asked
 * for, or one in a unit that we do not know. `unsatisfiable` (416): no piece lies in the file, or the request is
 * rejected because it cannot be read or asks for too much (too many pieces, or more bytes than the file has).
 */
export const parseRanges = (
  header: string | undefined,
  size: number,
): readonly ByteRange[] | 'unsatisfiable' | undefined => {
  const asked = UNIT.exec(header?.trim() ?? '')?.[1];
  if (asked === undefined) return undefined;
  // Empty places of a list are to be passed over (RFC 9110, 5.6.1).
  const specifiers = asked
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  if (specifiers.length > MAX_RANGES) return 'unsatisfiable';
  const ranges: ByteRange[] = [];
  for (const specifier of specifiers) {
    const range = parseSpecifier(specifier, size);
    if (range === 'invalid') return 'unsatisfiable';
    if (range !== 'outside') ranges.push(range);
  }
  const bytes = ranges.reduce((sum, range) => sum + lengthOf(range), 0);
  return ranges.length === 0 || bytes > size ? 'unsatisfiable' : ranges;
};

const parseSpecifier = (specifier: string, size: number): ByteRange | 'invalid' | 'outside' => {
  const [, from = '', to = ''] = SPECIFIER.exec(specifier) ?? [];
  if (from === '' && to === '') return 'invalid';
  if (from === '') {
    const length = Number(to);
    return length === 0 ? 'outside' : { start: Math.max(0, size - length), end: size - 1 };
  }
  const start = Number(from);
  if (to !== '' && Number(to) < start) return 'invalid';
  return start >= size ? 'outside' : { start, end: to === '' ? size - 1 : Math.min(Number(to), size - 1) };
};

export const lengthOf = ({ start, end }: ByteRange): number => end - start + 1;

export const contentRange = ({ start, end }: ByteRange, size: number): string =>
  `bytes ${start}-${end}/${size}`;

/** The frame of several pieces in one answer, `multipart/byteranges` (RFC 9110, section 14.6). */
export interface ByteRangesFrame {
  contentType: string;
  /** Bytes of the whole answer. */
  length: number;
  /** What stands before each piece, in their order. */
  heads: readonly Buffer[];
  tail: Buffer;
}

/** `boundary` must not be found in the file. */
export const frameRanges = (
  ranges: readonly ByteRange[],
  { size, mimeType, boundary }: { size: number; mimeType: string; boundary: string },
): ByteRangesFrame => {
  const heads = ranges.map((range) =>
    Buffer.from(
      `\r\n--${boundary}\r\ncontent-type: ${mimeType}\r\ncontent-range: ${contentRange(range, size)}\r\n\r\n`,
    ),
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  const pieces = ranges.reduce((sum, range) => sum + lengthOf(range), 0);
  const frames = heads.reduce((sum, head) => sum + head.length, tail.length);
  return { contentType: `multipart/byteranges; boundary=${boundary}`, length: pieces + frames, heads, tail };
};
