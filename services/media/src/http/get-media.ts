import { Readable } from 'node:stream';
import {
  defineRoute,
  type RawReply,
  type RawRequest,
  type Route,
} from '@fitness/shared/http/define-route.ts';
import { idParam } from '@fitness/shared/http/validation.ts';
import type { SessionPage } from '@fitness/shared/kernel/caller.ts';
import { releaseMemory } from '@fitness/shared/kernel/release-memory.ts';
import { z } from 'zod';
import type { DownloadFile } from '../app/download-file.ts';
import { ACCEPTED_TYPES, attachmentHeader, VARIANT_WIDTHS } from '../domain/file-types.ts';
import type { MediaRow } from '../domain/media.ts';
import { type ByteRange, contentRange, frameRanges, lengthOf, parseRanges } from '../domain/range.ts';
import type { UseCases } from '../use-cases.ts';
import { createDownloadLimit, type DownloadLimits, type LimitDownload } from './download-limit.ts';

const binary = z.string().meta({ format: 'binary', description: 'The file, as an attachment' });

interface Address {
  path: string;
  summary: string;
  params: z.ZodObject<{ id: typeof idParam }>;
  pages?: readonly SessionPage[];
}

const routeAt = (address: Address, downloads: Downloads): Route =>
  defineRoute({
    ...address,
    method: 'GET',
    description:
      'Returns a file as an attachment. A file is as public as what it is attached to. For any other file, you ' +
      'must be allowed to see what it is attached to; without a token the response is 401.\n\n' +
      'A document with a `purpose` is never public, and returns 403 without a token. A `trainer_license` is only for ' +
      'its user and holders of `users.view_all`. A `gym_license` is only for the owner of the gym and holders of ' +
      '`gyms.view_all`.\n\n' +
      'Conditional requests (`If-None-Match`) and byte ranges (`Range`, `If-Range`) are supported; several ' +
      'ranges are returned as `multipart/byteranges`. Links to files end with a file name, which does not affect ' +
      'what is returned.',
    tag: 'media',
    access: 'guest',
    audits: ['document.view'],
    query: z.object({
      width: z.enum(VARIANT_WIDTHS).optional().meta({
        description:
          'Largest width in pixels: returns a smaller image of the same type. Ignored for other files.',
      }),
    }),
    produces: [...ACCEPTED_TYPES, 'multipart/byteranges'],
    errorStatuses: [403],
    responses: { 200: binary, 206: binary, 304: null, 416: null },
    handle: async ({ params: { id }, query: { width }, caller, clientAddress, request, reply }) => {
      const smaller = width === undefined ? undefined : { width: Number(width), clientAddress };
      await serve(downloads, await downloads.downloadFile.find(caller, id, smaller), request, reply);
      return undefined;
    },
  });

interface Downloads {
  downloadFile: DownloadFile;
  limitDownload: LimitDownload;
}

export const getMediaRoutes = ({ downloadFile }: UseCases, limits: DownloadLimits): Route[] => {
  const downloads = { downloadFile, limitDownload: createDownloadLimit(limits) };
  return [
    routeAt({ path: '/media/:id', summary: 'Download a file', params: z.object({ id: idParam }) }, downloads),
    routeAt(
      {
        path: '/media/:id/:filename',
        summary: 'Download a file by its link',
        params: z.object({ id: idParam, filename: z.string() }),
        pages: ['ops'],
      },
      downloads,
    ),
  ];
};

const serve = async (
  { downloadFile, limitDownload }: Downloads,
  row: MediaRow,
  request: RawRequest,
  reply: RawReply,
): Promise<void> => {
  const etag = etagOf(row);
  if (matches(request.headers['if-none-match'] ?? '', etag)) {
    return sendNothing(setFileHeaders(row, reply).code(304));
  }
  // Range is defined only for GET (RFC 9110, 14.2).
  if (request.method === 'HEAD') {
    const head = setFileHeaders(row, reply).code(200).type(row.mime_type);
    return sendNothing(head.header('content-length', row.size));
  }
  const ranges = parseRanges(applicableRange(request, etag), row.size);
  if (ranges === 'unsatisfiable') {
    setFileHeaders(row, reply).code(416).header('content-range', `bytes */${row.size}`).send();
    return;
  }
  await limitDownload(reply, () => sendBytes(row, ranges, downloadFile, reply));
};

const etagOf = ({ sha256 }: MediaRow): string => `"${sha256}"`;

/** Called after every check, because a refusal must have none of these headers. */
const setFileHeaders = (row: MediaRow, reply: RawReply): RawReply =>
  reply.headers({
    etag: etagOf(row),
    // Permission is checked at each download, so a cache may store the file but must revalidate it.
    'cache-control': 'private, no-cache',
    'content-disposition': attachmentHeader(row.filename),
    'accept-ranges': 'bytes',
    'content-security-policy': "default-src 'none'; sandbox",
  });

/** Sends an empty stream. For an empty string, Fastify would set the `content-length` of a HEAD response to 0. */
const sendNothing = (reply: RawReply): void => {
  reply.send(Readable.from([]));
};

/**
 * A range applies only when `If-Range` is absent or the current ETag (RFC 9110, 13.1.5). A date never matches, because there is no
 * `Last-Modified`.
 */
const applicableRange = ({ headers }: RawRequest, etag: string): string | undefined =>
  headers['if-range'] === undefined || headers['if-range'] === etag ? headers.range : undefined;

/** Frees sent pieces. Otherwise, a thousand slow clients would leave tens of mebibytes to the garbage collector. */
const releaseSent = (response: RawReply['raw']): void => {
  response.once('pipe', (source: Readable) => {
    let before: Buffer | undefined;
    source.prependListener('data', (piece: Buffer) => {
      // If nothing is left to write, the system has taken everything before this piece.
      if (before !== undefined && response.writableLength === 0 && !response.destroyed) releaseMemory(before);
      before = piece;
    });
  });
};

const sendBytes = async (
  row: MediaRow,
  ranges: readonly ByteRange[] | undefined,
  downloadFile: DownloadFile,
  reply: RawReply,
): Promise<void> => {
  const [first, ...further] = ranges ?? [];
  releaseSent(reply.raw);
  const content = await downloadFile.open(row, first);
  setFileHeaders(row, reply);
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
  // A file cannot contain its own hash.
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
  // A client that disconnects at once does not start the generator.
  whole.once('close', () => content.destroy());
  reply.code(206).type(frame.contentType).header('content-length', frame.length).send(whole);
};

/** Whether a list of tags matches. A tag may contain commas. The comparison is weak (RFC 9110, 13.1.2). */
const matches = (header: string, etag: string): boolean =>
  header.trim() === '*' || [...header.matchAll(/"[^"]*"/g)].some(([tag]) => tag === etag);
