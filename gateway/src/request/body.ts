/** Reads request bodies completely before a service is called. Only uploads are streamed. */
import type { IncomingMessage } from 'node:http';
import { type Readable, Transform, type TransformCallback } from 'node:stream';
import { AppError, badRequest, message } from '@fitness/shared/kernel/error.ts';

const MEBIBYTE = 1024 * 1024;
/** Limit for every body that is not an upload. Each route of a service has a lower limit. */
export const BODY_LIMIT_BYTES = MEBIBYTE;
/**
 * Limits for bodies that the gateway itself parses: JSON for `/mcp` (ten of its longest calls), and forms from
 * its pages.
 */
export const JSON_LIMIT_BYTES = 64 * 1024;
export const FORM_LIMIT_BYTES = 16 * 1024;
/** Higher than the media service's limit. Media can then report an oversized file as a field error. */
export const UPLOAD_LIMIT_BYTES = 128 * MEBIBYTE;

export const tooLarge = (): AppError =>
  new AppError({ kind: 'too_large', code: 'too_large', message: message('error.too_large') });

/** Closes the connection, because anything that the client sends later would be read as part of this body. */
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

/** The client has disconnected, and nobody reads the response. */
export const clientGone = (): AppError => badRequest('client_gone', message('error.bad_request'));

interface BodyLimits {
  /** Limit for one body, unless the caller passes a lower limit. */
  bytes: number;
  /** Time limit for receiving a whole body, even if it arrives steadily. */
  timeoutMs: number;
  /** Number of bodies that may be received at the same time. */
  bodies: number;
  /** Limit for the bytes received so far, over all of these bodies. */
  totalBytes: number;
}

/** Reads a whole body. Rejects with 408, 413, or 503 if too many bodies are being received. */
export type ReadBody = (source: IncomingMessage, limitBytes?: number) => Promise<Buffer>;

/**
 * When a limit for all bodies is reached, the oldest body is refused: it is the least likely to arrive completely. Clients that
 * stop sending therefore cannot lock out others.
 */
export const createReadBody = (limits: BodyLimits): ReadBody => {
  /** Bodies being received, oldest first. */
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
          // The rest is read and dropped, because a client that is still sending cannot read the response.
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
  /** Undefined for a chunked body (RFC 9112, 7.1), which marks its own end. */
  length: number | undefined;
  onChunk: () => void;
  beforeEnd: () => Promise<void>;
}

/** Holds back the last byte until `beforeEnd` resolves. Until then, the service does not have the whole body. */
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
 * Streams the body of `source`. The body ends after `beforeEnd` resolves, and fails with its error. It fails with 413 above
 * 128 MiB, and with 408 if the client sends nothing for `idleMs`.
 *
 * If a service answers before it has read the whole body, the rest is read and dropped. A client that is still
 * sending cannot read the response, and would lose it if the connection were closed.
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
    // In these cases the service is slow, not the client.
    if (source.complete || body.writableNeedDrain) idle.refresh();
    else body.destroy(tooSlow());
  }, idleMs);
  // The reader receives errors too. Without this listener, an error would end the process if there is no reader yet.
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
