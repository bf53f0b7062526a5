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
import { parseRange } from '../domain/range.ts';

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
    description: 'ETag, If-None-Match and one byte range are honoured. A filename in the path is cosmetic.',
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
  const etag = `"${row.sha256}"`;
  reply.headers({
    etag,
    // Who may see it is decided at each download: a cache may keep it, but must ask.
    'cache-control': 'private, no-cache',
    'content-disposition': attachmentHeader(row.filename),
    'accept-ranges': 'bytes',
    'content-security-policy': "default-src 'none'; sandbox",
  });
  if (matches(request.headers['if-none-match'], etag)) {
    reply.code(304).send();
    return;
  }
  await sendBytes(row, etag, downloadFile, request, reply);
};

const sendBytes = async (
  row: MediaRow,
  etag: string,
  downloadFile: DownloadFile,
  request: RawRequest,
  reply: RawReply,
): Promise<void> => {
  const ifRange = request.headers['if-range'];
  const wanted = ifRange === undefined || ifRange === etag ? request.headers.range : undefined;
  const range = parseRange(wanted, row.size);
  if (range === 'unsatisfiable') {
    reply.code(416).header('content-range', `bytes */${row.size}`).send();
    return;
  }
  const content = await downloadFile.open(row, range);
  reply.type(row.mime_type);
  if (range === undefined) {
    reply.code(200).header('content-length', row.size).send(content);
    return;
  }
  reply
    .code(206)
    .header('content-range', `bytes ${range.start}-${range.end}/${row.size}`)
    .header('content-length', range.end - range.start + 1)
    .send(content);
};

const matches = (header: string | undefined, etag: string): boolean => {
  const tags = header?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? [];
  return tags.some((tag) => tag === '*' || tag === etag);
};
