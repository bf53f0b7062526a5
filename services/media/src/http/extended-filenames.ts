/**
 * The file names in `filename*` (RFC 8187), which win over `filename` (RFC 6266). The parser of forms takes the first or the
 * last of both, so a second one reads the heads of the parts along with it.
 */
import { Dicer } from '@fastify/busboy';
import type { RawRequest } from '@fitness/shared/http/define-route.ts';

const BOUNDARY = /;\s*boundary\s*=\s*(?:"([^"]+)"|([^\s";]+))/i;
/** Ten times a name that is kept whole. The patterns below take quadratic time for quotes that are not closed. */
const MAX_LENGTH = 4_000;
/** RFC 2046; the parser refuses much longer ones. */
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
  /** Of the next part with this field name, in the order of the form. */
  next(): string | undefined;
  stop(): void;
}

/** Reads the form of `request` until it is stopped. Called right before the parser begins, which sees the same bytes. */
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
      const [, given, plain] = NAME.exec(disposition) ?? [];
      if ((given ?? plain) === field) names.push(extendedName(disposition));
    });
    part.resume();
  });
  raw.pipe(heads);
  return { next: () => names.shift(), stop: () => raw.unpipe(heads) };
};
