/** Forms that browsers do not send, in pieces. */
import type { Piece, RawAnswer } from './raw.ts';
import { GYM, PNG } from './support.ts';

/** The boundary of these forms. */
export const B = 'x';
export const field = (name: string, value: Piece, more = ''): Piece[] => [
  `--${B}\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n`,
  value,
  '\r\n',
];
export const file = (
  content: Piece = PNG,
  disposition = 'name="file"; filename="a.png"',
  more = '',
): Piece[] => [`--${B}\r\ncontent-disposition: form-data; ${disposition}\r\n${more}\r\n`, content, '\r\n'];
export const fieldsOf = (target: typeof GYM): Piece[] =>
  Object.entries(target).flatMap(([name, value]) => field(name, String(value)));
export const GYM_FIELDS = fieldsOf(GYM);
export const END = `--${B}--\r\n`;
export const FORM = `content-type: multipart/form-data; boundary=${B}`;

export const json = ({ body }: RawAnswer) => JSON.parse(body.toString());
export const outcome = (answer: RawAnswer): [number, string[]] => [
  answer.status,
  Object.keys(json(answer).errors ?? {}),
];
