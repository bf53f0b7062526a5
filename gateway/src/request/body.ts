/** Bodies of requests: read completely before a service is called, or streamed where they are files. */
import type { IncomingMessage } from 'node:http';
import { type Readable, Transform, type TransformCallback } from 'node:stream';
import { AppError, badRequest, message } from '@fitness/shared/kernel/error.ts';

const MEBIBYTE = 1024 * 1024;
/** The limit for every body that is not an upload. Each route of a service has a lower one. */
export const BODY_LIMIT_BYTES = MEBIBYTE;
/** Limits for what the gateway parses itself: JSON of `/mcp`, which fits ten of its longest calls, and forms of the pages. */
export const JSON_LIMIT_BYTES = 64 * 1024;
export const FORM_LIMIT_BYTES = 16 * 1024;
/** Above the limit of media, which refuses a file that is too large itself, under its field. */
export const UPLOAD_LIMIT_BYTES = 128 * MEBIBYTE;

export const tooLarge = (): AppError =>
  new AppError({ kind: 'too_large', code: 'too_large', message: message('error.too_large') });

/** Closes the connection: what the client sends later would be read as part of this body. */
const tooSlow = (): AppError =>
  new AppError({
    kind: 'request_timeout',
    code: 'request_timeout',
    message: message('error.request_timeout'),
    headers: { connection: 'close' },
  });

const RETRY_AFTER_S = 2;

export const overloaded = (): AppError =>
  new AppError({
    kind: 'unavailable',
    code: 'overloaded',
    message: message('error.overloaded'),
    retryAfterS: RETRY_AFTER_S,
  });

/** Nobody reads the answer. */
export const clientGone = (): AppError => badRequest('client_gone', message('error.bad_request'));

interface BodyLimits {
  /** The limit for one body where the caller names no lower one. */
  bytes: number;
  /** Time for a whole body to arrive, however steadily it does. */
  timeoutMs: number;
  /** Bodies that may be on their way at one time. */
  bodies: number;
  /** Bytes of these bodies. */
  totalBytes: number;
}

/** Reads a whole body. Rejects with 408, 413, and 503 where many others arrive. */
export type ReadBody = (source: IncomingMessage, limitBytes?: number) => Promise<Buffer>;

/**
 * At a limit on all bodies together the oldest one is refused, not the newest: it is the least likely to arrive, so that
 * clients that stop sending cannot keep out others.
 */
export const createReadBody = (limits: BodyLimits): ReadBody => {
  /** The oldest first. */
  const arriving = new Set<{ fail(error: AppError): void }>();
  let totalBytes = 0;

  const makeRoom = (): void => {
    for (const oldest of arriving) {
      if (arriving.size <= limits.bodies && totalBytes <= limits.totalBytes) return;
      oldest.fail(overloaded());
    }
  };

  return (source, limitBytes = limits.bytes) =>
    new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      const finish = (): void => {
        clearTimeout(timer);
        arriving.delete(body);
        totalBytes -= bytes;
        source.off('data', onData).off('end', onEnd).off('close', onClose);
      };
      const body = {
        fail: (error: AppError): void => {
          finish();
          // The rest is read and dropped: a client that is still sending cannot read the answer.
          source.resume();
          reject(error);
        },
      };
      const onData = (chunk: Buffer): void => {
        chunks.push(chunk);
        bytes += chunk.length;
        totalBytes += chunk.length;
        if (bytes > limitBytes) body.fail(tooLarge());
        else makeRoom();
      };
      const onEnd = (): void => {
        finish();
        resolve(Buffer.concat(chunks, bytes));
      };
      const onClose = (): void => body.fail(clientGone());
      const timer = setTimeout(() => body.fail(tooSlow()), limits.timeoutMs);
      arriving.add(body);
      if (source.destroyed) return onClose();
      if (Number(source.headers['content-length'] ?? 0) > limitBytes) return body.fail(tooLarge());
      source.on('data', onData).once('end', onEnd).once('close', onClose);
      makeRoom();
    });
};

interface UploadOptions {
  /** Undefined for a body in chunks (RFC 9112, 7.1), which has an end of its own. */
  length: number | undefined;
  onChunk: () => void;
  beforeEnd: () => Promise<void>;
}

/** Keeps the last byte back until `beforeEnd` has resolved: without it the service does not have the whole body. */
class UploadBody extends Transform {
  readonly #options: UploadOptions;
  #last: Buffer = Buffer.alloc(0);
  #bytes = 0;

  constructor(options: UploadOptions) {
    super();
    this.#options = options;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const { length, onChunk } = this.#options;
    onChunk();
    this.#bytes += chunk.length;
    if (chunk.length > 0 && this.#bytes === length) this.#last = chunk.subarray(-1);
    if (this.#bytes > UPLOAD_LIMIT_BYTES) done(tooLarge());
    else done(null, chunk.subarray(0, chunk.length - this.#last.length));
  }

  override _flush(done: TransformCallback): void {
    this.#options.beforeEnd().then(() => done(null, this.#last), done);
  }
}

/**
 * Streams the body of `source`, its end only after `beforeEnd`, whose error the body fails with. Fails with 413 past
 * 128 MiB, and with 408 when the client sends nothing for `idleMs`.
 * When a service answers before it has read the whole body, the rest is read and dropped: a client that is still sending
 * cannot read the answer, and would lose it if the connection were closed.
 */
export const forwardUpload = (
  source: IncomingMessage,
  idleMs: number,
  beforeEnd: UploadOptions['beforeEnd'],
): Readable => {
  const declared = source.headers['content-length'];
  const length = declared === undefined ? undefined : Number(declared);
  const body = new UploadBody({ length, onChunk: () => idle.refresh(), beforeEnd });
  const idle = setTimeout(() => {
    // The service is slow, not the client.
    if (source.complete || body.writableNeedDrain) idle.refresh();
    else body.destroy(tooSlow());
  }, idleMs);
  // The reader receives errors too; without this listener an error before there is a reader would end the process.
  body.on('error', () => undefined);
  body.once('close', () => {
    clearTimeout(idle);
    source.unpipe(body);
    source.resume();
  });
  body.once('finish', () => clearTimeout(idle));
  source.pipe(body);
  return body;
};
