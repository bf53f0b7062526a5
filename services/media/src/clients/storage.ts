/** Where the bytes are. A file is under its key whole, or not at all. */
import type { Readable } from 'node:stream';
import type { StoredFile } from '../domain/media.ts';
import type { ByteRange } from '../domain/range.ts';

export interface Storage {
  /** Streams `content` in; nothing is left behind when it fails. */
  put(content: Readable): Promise<StoredFile>;
  /** Rejects with code ENOENT when there is no such file. */
  open(key: string, range?: ByteRange): Promise<Readable>;
  /** Nothing happens when there is no such file. */
  delete(key: string): Promise<void>;
  /** Keys that were put before `before`, a batch at a time. */
  listOlderThan(before: Date): AsyncIterable<string>;
}
