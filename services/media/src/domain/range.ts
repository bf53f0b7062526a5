/** Byte ranges of a file (RFC 9110, section 14). */
export interface ByteRange {
  start: number;
  /** Inclusive. */
  end: number;
}

/** Limit for ranges, higher than what players and download tools request at once. */
const MAX_RANGES = 16;
const UNIT = /^bytes\s*=(.*)$/i;
const SPECIFIER = /^(\d*)-(\d*)$/;

/**
 * The requested ranges, in the order of the request. Undefined means the whole file: there is no range, or an unknown unit.
 * `unsatisfiable` (416) means that no range lies in the file, the header is malformed, or it requests too much: too many ranges, or
 * more bytes than the file has.
 */
export const parseRanges = (
  header: string | undefined,
  size: number,
): readonly ByteRange[] | 'unsatisfiable' | undefined => {
  const list = UNIT.exec(header?.trim() ?? '')?.[1];
  if (list === undefined) return undefined;
  // Empty list elements are ignored (RFC 9110, 5.6.1).
  const specifiers = list
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

/** Headers and delimiters of several ranges in one `multipart/byteranges` body (RFC 9110, section 14.6). */
export interface ByteRangesFrame {
  contentType: string;
  /** Bytes of the whole body. */
  length: number;
  /** The parts' headers, in the order of the ranges that they precede. */
  heads: readonly Buffer[];
  tail: Buffer;
}

/** The file must not contain `boundary`. */
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
  const content = ranges.reduce((sum, range) => sum + lengthOf(range), 0);
  const framing = heads.reduce((sum, head) => sum + head.length, tail.length);
  return {
    contentType: `multipart/byteranges; boundary=${boundary}`,
    length: content + framing,
    heads,
    tail,
  };
};
