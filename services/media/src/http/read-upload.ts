/** Reads a multipart upload. Fields may come in any order, and the file is streamed after a check of its first bytes. */
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { PassThrough } from 'node:stream';
import type { MultipartFile } from '@fastify/multipart';
import type { RawRequest } from '@fitness/shared/http/define-route.ts';
import { AppError, invalid, isAppError, type Message, message } from '@fitness/shared/kernel/error.ts';
import { fileTypeFromBuffer } from 'file-type';
import type { ReceiveFile } from '../app/receive-file.ts';
import { acceptedType, cleanFilename, MAX_FILE_BYTES, SNIFF_BYTES } from '../domain/file-types.ts';
import type { StoredFile } from '../domain/media.ts';
import { readExtendedFilenames } from './extended-filenames.ts';

export interface Upload {
  fields: Record<string, string>;
  /** Undefined when the form has no file, or one that is not accepted. */
  file: { stored: StoredFile; mimeType: string; filename: string } | undefined;
  /** Why the file is not accepted. The fields are read nevertheless, because one response names all that is wrong. */
  refusal: Message | undefined;
}

/** Files in other fields are ignored, like other unknown fields. */
const LIMITS = { fileSize: MAX_FILE_BYTES, files: 5, fields: 20, fieldSize: 1_000, parts: 30 };
const FILE = 'file';
const MULTIPART = /^multipart\/form-data\s*(;|$)/i;

const MAX_FILE_MIB = MAX_FILE_BYTES / 1024 / 1024;

/** Throws 415. Called before the body is parsed, because for an unknown type the framework would ask for JSON. */
export const assertMultipart = (contentType: string | undefined): void => {
  if (MULTIPART.test(contentType ?? '')) return;
  const text = message('error.form_expected');
  throw new AppError({ kind: 'unsupported_media_type', code: 'unsupported_media_type', message: text });
};

/**
 * Throws 422 under `file` for several files, and 400 for a malformed or incomplete form. Nothing remains stored then. Closes the
 * connection when the form has not arrived after `deadlineMs`.
 */
export const readUpload = async (
  request: RawRequest,
  files: ReceiveFile,
  deadlineMs: number,
): Promise<Upload> => {
  const upload: Upload = { fields: {}, file: undefined, refusal: undefined };
  // Fastify does not call the content type parser for an empty body.
  if (!request.isMultipart()) return upload;
  // The parser would wait forever for the end of a request that is already closed.
  if (request.raw.destroyed) throw malformed('the client disconnected');
  const late = setTimeout(() => request.raw.destroy(), deadlineMs);
  const names = readExtendedFilenames(request, FILE);
  try {
    for await (const part of request.parts({ limits: LIMITS })) {
      const name = part.fieldname === FILE ? names.next() : undefined;
      if (part.type === 'field') upload.fields[part.fieldname] = String(part.value);
      else if (part.fieldname !== FILE || upload.refusal !== undefined) part.file.resume();
      else if (upload.file === undefined) {
        names.stop();
        Object.assign(upload, await receive(part, name, files));
      } else throw invalid({ file: message('validation.one_file') });
    }
    return upload;
  } catch (error) {
    // The rest of the form is read and dropped, because a client that is still sending could not read the response.
    request.raw.unpipe().resume();
    if (upload.file !== undefined) await files.discard(upload.file.stored);
    throw isAppError(error) ? error : malformed(error);
  } finally {
    names.stop();
    clearTimeout(late);
  }
};

const malformed = (cause: unknown): AppError => {
  const text = message('error.bad_request');
  return new AppError({ kind: 'bad_request', code: 'bad_request', message: text, cause });
};

const receive = async (
  part: MultipartFile,
  name: string | undefined,
  files: ReceiveFile,
): Promise<Pick<Upload, 'file' | 'refusal'>> => {
  const refused = (refusal: Message) => ({ file: undefined, refusal });
  const { head, rest } = await peek(part.file);
  const mimeType = acceptedType((await fileTypeFromBuffer(head))?.mime, head);
  if (mimeType === undefined) {
    rest.resume();
    // An empty file has already ended. Any other file has a wrong type, whatever its size.
    return refused(message(head.length === 0 ? 'validation.empty_file' : 'validation.file_type'));
  }
  const stored = await files.keep(rest);
  // The parser ends the stream at the size limit without an error.
  if (part.file.truncated) {
    await files.discard(stored);
    return refused(message('validation.file_size', { max: MAX_FILE_MIB }));
  }
  const file = { stored, mimeType, filename: cleanFilename(name ?? part.filename) };
  return { file, refusal: undefined };
};

/** Returns the first bytes of `source`, and a stream of all its bytes. */
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
  // The reader receives errors too. Without this listener, an error before there is a reader would end the process.
  rest.on('error', () => undefined);
  const replay = async (): Promise<void> => {
    if (head.length > 0) rest.write(head);
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
      if (!rest.write(next.value)) await once(rest, 'drain');
    }
    rest.end();
  };
  replay().catch((error: Error) => rest.destroy(error));
  return { head: head.subarray(0, SNIFF_BYTES), rest };
};
