/**
 * Reads the file names in `filename*` (RFC 8187), which take precedence over `filename` (RFC 6266). The form parser takes either the
 * first or the last of both, so a second parser reads the headers of the parts in parallel.
 */
import { Dicer } from '@fastify/busboy';
import type { RawRequest } from '@fitness/shared/http/define-route.ts';

const BOUNDARY = /;\s*boundary\s*=\s*(?:"([^"]+)"|([^\s";]+))/i;
/** Ten times the longest name that is stored whole. The patterns below take quadratic time for unclosed quotes. */
const MAX_LENGTH = 4_000;
/** Limit in RFC 2046. The parser refuses much longer boundaries. */
const MAX_BOUNDARY = 70;
const QUOTED = /"(?:\\.|[^"\\])*"/gs;
const NAME = /;\s*name\s*=\s*(?:"((?:\\.|[^"\\])*)"|([^\s";]+))/is;
const EXTENDED = /;\s*filename\*\s*=\s*([^\s";]+)/i;
const ENCODED = /^(utf-8|iso-8859-1)'[^']*'(.*)$/i;

const decoded = (value: string): string | undefined => {
  const [, charset = '', text = ''] = ENCODED.exec(value) ?? [];
  try {
    if (charset.toLowerCase() === 'utf-8') return decodeURIComponent(text);
    if (charset === '' || /%(?![\da-f]{2})/i.test(text)) return undefined;
    return text.replaceAll(/%(..)/g, (_all, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  } catch {
    return undefined;
  }
};

/** Undefined without a readable `filename*`. */
const extendedName = (disposition: string): string | undefined => {
  const [, value] = EXTENDED.exec(disposition.replaceAll(QUOTED, '""')) ?? [];
  return value === undefined ? undefined : decoded(value);
};

export interface ExtendedFilenames {
  /** Name of the next part with this field name, in the order of the form. */
  next(): string | undefined;
  stop(): void;
}

/** Reads the form of `request` until it is stopped. Must be called right before the parser starts, which sees the same bytes. */
export const readExtendedFilenames = ({ raw }: RawRequest, field: string): ExtendedFilenames => {
  const [, quoted, token] = BOUNDARY.exec(raw.headers['content-type'] ?? '') ?? [];
  const boundary = quoted ?? token ?? '';
  if (boundary === '' || boundary.length > MAX_BOUNDARY)
    return { next: () => undefined, stop: () => undefined };
  const names: (string | undefined)[] = [];
  const heads = new Dicer({ boundary });
  // An invalid form is refused by its parser.
  heads.on('error', () => undefined);
  heads.on('part', (part) => {
    part.on('error', () => undefined);
    part.on('header', (header: Record<string, string[]>) => {
      const disposition = (header['content-disposition']?.[0] ?? '').slice(0, MAX_LENGTH);
      const [, quotedName, plain] = NAME.exec(disposition) ?? [];
      if ((quotedName ?? plain) === field) names.push(extendedName(disposition));
    });
    part.resume();
  });
  raw.pipe(heads);
  return { next: () => names.shift(), stop: () => raw.unpipe(heads) };
};
