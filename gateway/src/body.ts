/** Request bodies on their way through: streamed, counted, and never in the way of an early answer. */
import type { IncomingMessage } from 'node:http';
import { type Readable, Transform, type TransformCallback } from 'node:stream';
import { AppError, message } from '@fitness/shared/error.ts';

export const tooLarge = (): AppError =>
  new AppError({ kind: 'too_large', code: 'too_large', message: message('error.too_large') });

class Counter extends Transform {
  readonly #limitBytes: number;
  #bytes = 0;

  constructor(limitBytes: number) {
    super();
    this.#limitBytes = limitBytes;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#limitBytes) done(tooLarge());
    else done(null, chunk);
  }
}

/**
 * The body of `source`; it fails with 413 past `limitBytes`. A service may answer before it has read everything: what
 * is left is then read and dropped here, because a client that is still sending cannot read the answer, and a
 * connection that is closed on it would lose it.
 */
export const forwardBody = (source: IncomingMessage, limitBytes: number): Readable => {
  const body = new Counter(limitBytes);
  // Whoever reads the body hears of its errors as well; without a listener of its own one would end the process.
  body.on('error', () => undefined);
  body.once('close', () => {
    source.unpipe(body);
    source.resume();
  });
  source.pipe(body);
  return body;
};
