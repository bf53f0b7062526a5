import type { IncomingMessage } from 'node:http';
import { type Readable, Transform, type TransformCallback } from 'node:stream';
import { AppError, message } from '@fitness/shared/kernel/error.ts';

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
 * Streams the body of `source`; fails with 413 past `limitBytes`. When a service answers before it has read the whole
 * body, the rest is read and dropped: a client that is still sending cannot read the answer, and would lose it if the
 * connection were closed.
 */
export const forwardBody = (source: IncomingMessage, limitBytes: number): Readable => {
  const body = new Counter(limitBytes);
  // The reader receives errors too; without this listener an error before there is a reader would end the process.
  body.on('error', () => undefined);
  body.once('close', () => {
    source.unpipe(body);
    source.resume();
  });
  source.pipe(body);
  return body;
};
