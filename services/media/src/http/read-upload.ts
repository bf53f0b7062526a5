/** Reads a multipart upload: fields in any order, the file streamed to the storage while its first bytes are judged. */
import type { Readable } from 'node:stream';
import { PassThrough } from 'node:stream';
import type { MultipartFile } from '@fastify/multipart';
import { AppError, invalid, isAppError, message } from '@fitness/shared/error.ts';
import type { RawRequest } from '@fitness/shared/http/define-route.ts';
import { fileTypeFromBuffer } from 'file-type';
import type { ReceiveFile } from '../app/receive-file.ts';
import { cleanFilename, isAccepted, MAX_FILE_BYTES, SNIFF_BYTES } from '../domain/file-types.ts';
import type { StoredFile } from '../domain/media.ts';

export interface Upload {
  fields: Record<string, string>;
  /** Undefined when no file came. */
  file: { stored: StoredFile; mimeType: string; filename: string } | undefined;
}

/** Files in other fields are ignored, as other unknown fields are. */
const LIMITS = { fileSize: MAX_FILE_BYTES, files: 5, fields: 20, fieldSize: 1_000, parts: 30 };

const refusedFile = (): AppError => invalid({ file: message('validation.invalid') });

/** 415 for anything but multipart, 422 under `file` for a type or size that is not accepted. Nothing stays stored then. */
export const readUpload = async (request: RawRequest, files: ReceiveFile): Promise<Upload> => {
  if (!request.isMultipart()) {
    const text = message('error.unsupported_media_type');
    throw new AppError({ kind: 'unsupported_media_type', code: 'unsupported_media_type', message: text });
  }
  const upload: Upload = { fields: {}, file: undefined };
  try {
    for await (const part of request.parts({ limits: LIMITS })) {
      if (part.type === 'field') upload.fields[part.fieldname] = String(part.value);
      else if (part.fieldname !== 'file') part.file.resume();
      else if (upload.file === undefined) upload.file = await receive(part, files);
      else throw secondFile(part);
    }
    return upload;
  } catch (error) {
    if (upload.file !== undefined) await files.discard(upload.file.stored);
    throw isOurs(error) ? error : malformed(error);
  }
};

/** Read to its end, else the parser waits for a reader for ever. */
const secondFile = (part: MultipartFile): AppError => {
  part.file.resume();
  return refusedFile();
};

/** A refusal, or a failure of the disk (which has a code); what the parser throws has neither. */
const isOurs = (error: unknown): boolean => {
  const code = (error as { code?: unknown } | null)?.code;
  return isAppError(error) || (typeof code === 'string' && !code.startsWith('FST_'));
};

const malformed = (cause: unknown): AppError => {
  const text = message('error.bad_request');
  return new AppError({ kind: 'bad_request', code: 'bad_request', message: text, cause });
};

const receive = async (part: MultipartFile, files: ReceiveFile): Promise<NonNullable<Upload['file']>> => {
  const { head, rest } = await peek(part.file);
  const type = await fileTypeFromBuffer(head);
  if (type === undefined || !isAccepted(type.mime, head)) {
    rest.resume();
    throw refusedFile();
  }
  const stored = await files.keep(rest);
  // The stream simply ends at the limit: what came is not the file that was sent.
  if (part.file.truncated) {
    await files.discard(stored);
    throw refusedFile();
  }
  return { stored, mimeType: type.mime, filename: cleanFilename(part.filename) };
};

/** The first bytes of `source`, and a stream of all of it. */
const peek = async (source: Readable): Promise<{ head: Buffer; rest: Readable }> => {
  const chunks: Buffer[] = [];
  let length = 0;
  const iterator = source[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  while (length < SNIFF_BYTES) {
    const next = await iterator.next();
    if (next.done === true) break;
    chunks.push(next.value);
    length += next.value.length;
  }
  const head = Buffer.concat(chunks);
  const rest = new PassThrough();
  const replay = async (): Promise<void> => {
    if (head.length > 0) rest.write(head);
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
      if (!rest.write(next.value)) await new Promise((resolve) => rest.once('drain', resolve));
    }
    rest.end();
  };
  replay().catch((error: Error) => rest.destroy(error));
  return { head: head.subarray(0, SNIFF_BYTES), rest };
};
