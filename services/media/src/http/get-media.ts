import { Readable } from 'node:stream';
import type { Caller } from '@fitness/shared/caller.ts';
import {
  defineRoute,
  type RawReply,
  type RawRequest,
  type Route,
} from '@fitness/shared/http/define-route.ts';
import { idParam } from '@fitness/shared/http/validation.ts';
import { z } from 'zod';
import type { DownloadFile } from '../app/download-file.ts';
import { attachmentHeader } from '../domain/file-types.ts';
import type { MediaRow } from '../domain/media.ts';
import { type ByteRange, contentRange, frameRanges, lengthOf, parseRanges } from '../domain/range.ts';

const binary = z.string().meta({ description: 'The file, as an attachment.' });

const routeAt = (
  path: string,
  params: z.ZodObject<{ id: typeof idParam }>,
  downloadFile: DownloadFile,
): Route =>
  defineRoute({
    method: 'GET',
    path,
    summary: 'Download a file',
    description:
      'ETag, If-None-Match, If-Range and byte ranges are honoured; several ranges are answered as ' +
      'multipart/byteranges. A filename in the path is cosmetic.',
    tag: 'media',
    access: 'guest',
    params,
    produces: 'application/octet-stream',
    mayRefuse: [403],
    responses: { 200: binary, 206: binary, 304: null, 416: null },
    handle: async ({ params: { id }, caller, request, reply }) => {
      await serve(downloadFile, id, caller, request, reply);
      return undefined;
    },
  });

export const getMedia = (downloadFile: DownloadFile): Route[] => [
  routeAt('/media/:id', z.object({ id: idParam }), downloadFile),
  routeAt('/media/:id/:filename', z.object({ id: idParam, filename: z.string() }), downloadFile),
];

const serve = async (
  downloadFile: DownloadFile,
  id: number,
  caller: Caller,
  request: RawRequest,
  reply: RawReply,
): Promise<void> => {
  const row = await downloadFile.find(caller, id);
  const etag = etagOf(row);
  if (matches(request.headers['if-none-match'] ?? '', etag)) {
    return sendNothing(describe(row, reply).code(304));
  }
  // A range is for GET alone (RFC 9110, 14.2).
  if (request.method === 'HEAD') {
    const described = describe(row, reply).code(200).type(row.mime_type);
    return sendNothing(described.header('content-length', row.size));
  }
  const ranges = parseRanges(wantedRange(request, etag), row.size);
  if (ranges === 'unsatisfiable') {
    describe(row, reply).code(416).header('content-range', `bytes */${row.size}`).send();
    return;
  }
  await sendBytes(row, ranges, downloadFile, reply);
};

const etagOf = ({ sha256 }: MediaRow): string => `"${sha256}"`;

/** Only once it is sure that it is answered: a refusal is no attachment, and nothing for a cache. */
const describe = (row: MediaRow, reply: RawReply): RawReply =>
  reply.headers({
    etag: etagOf(row),
    // Who may see it is decided at each download: a cache may keep it, but must ask.
    'cache-control': 'private, no-cache',
    'content-disposition': attachmentHeader(row.filename),
    'accept-ranges': 'bytes',
    'content-security-policy': "default-src 'none'; sandbox",
  });

/** An empty stream and not an empty text: for that, the answer to HEAD would say that the file has no bytes. */
const sendNothing = (reply: RawReply): void => {
  reply.send(Readable.from([]));
};

/** The range of another state of the file is none (RFC 9110, 13.1.5); a file never changes, so a date never matches. */
const wantedRange = ({ headers }: RawRequest, etag: string): string | undefined =>
  headers['if-range'] === undefined || headers['if-range'] === etag ? headers.range : undefined;

const sendBytes = async (
  row: MediaRow,
  ranges: readonly ByteRange[] | undefined,
  downloadFile: DownloadFile,
  reply: RawReply,
): Promise<void> => {
  const [first, ...further] = ranges ?? [];
  const content = await downloadFile.open(row, first);
  describe(row, reply);
  if (first === undefined) {
    reply.code(200).type(row.mime_type).header('content-length', row.size).send(content);
    return;
  }
  if (further.length === 0) {
    reply
      .code(206)
      .type(row.mime_type)
      .header('content-range', contentRange(first, row.size))
      .header('content-length', lengthOf(first))
      .send(content);
    return;
  }
  // No file holds its own hash.
  const boundary = row.sha256;
  const frame = frameRanges([first, ...further], { size: row.size, mimeType: row.mime_type, boundary });
  async function* body(): AsyncIterable<Buffer> {
    for (const [index, head] of frame.heads.entries()) {
      yield head;
      yield* index === 0 ? content : await downloadFile.open(row, further[index - 1]);
    }
    yield frame.tail;
  }
  const whole = Readable.from(body(), { objectMode: false });
  // Not even begun when the reader is gone at once.
  whole.once('close', () => content.destroy());
  reply.code(206).type(frame.contentType).header('content-length', frame.length).send(whole);
};

/** A tag may hold commas. Weak or not makes no difference here (RFC 9110, 13.1.2). */
const matches = (header: string, etag: string): boolean =>
  header.trim() === '*' || [...header.matchAll(/"[^"]*"/g)].some(([tag]) => tag === etag);
