/** Where the bytes are. A file is under its key whole, or not at all. */
import type { Readable } from 'node:stream';
import type { StoredFile } from '../domain/media.ts';
import type { ByteRange } from '../domain/range.ts';

export interface Storage {
  /**
   * Streams `content` to where it waits until it is placed; nothing is left behind when it fails. Throws `unavailable`
   * when it cannot be kept here. The pieces are used up: their memory may be gone afterwards.
   */
  receive(content: Readable): Promise<StoredFile>;
  /** Forgets a received file that is not placed. */
  discard(file: StoredFile): Promise<void>;
  /** Puts a received file under its key, to stay there. Rejects with `FILE_MISSING` when it does not wait any more. */
  place(file: StoredFile): Promise<void>;
  /** The bytes of a placed file, or of one piece of it. Rejects with `FILE_MISSING` when there is no such file. */
  open(key: string, range?: ByteRange): Promise<Readable>;
  /** Whether it waits or was placed; nothing happens when there is no such file. */
  delete(key: string): Promise<void>;
  /** Keys of files that have waited, or were placed, since before `before`. */
  listOlderThan(before: Date): AsyncIterable<string>;
  /** Rejects when nothing can be stored here now. */
  check(): Promise<void>;
  close(): void;
}

const KEY = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const isStorageKey = (name: string): boolean => KEY.test(name);

/** Throws for what is no key: no path or address is ever made of anything else. */
export const asStorageKey = (key: string): string => {
  if (!isStorageKey(key)) throw new Error('not a storage key');
  return key;
};
