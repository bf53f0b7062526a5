/** Storage of file contents. A file exists under its key completely or not at all. */
import type { Readable } from 'node:stream';
import type { StoredFile } from '../domain/media.ts';
import type { ByteRange } from '../domain/range.ts';

export interface Storage {
  /**
   * Streams `content` into the spool. Nothing remains when it fails. Throws `unavailable` when the disk does not accept it. Takes
   * over the memory of the chunks, so their buffers may be detached afterwards.
   */
  receive(content: Readable): Promise<StoredFile>;
  /** Returns the bytes of a received file that was not placed. */
  openReceived(file: StoredFile): Promise<Readable>;
  /** Deletes a received file that was not placed. */
  discard(file: StoredFile): Promise<void>;
  /** Stores a received file under its key. Rejects with `FILE_MISSING` when the spool does not have it. */
  place(file: StoredFile): Promise<void>;
  /** Returns the bytes of a placed file, or a range of them. Rejects with `FILE_MISSING` when there is no such file. */
  open(key: string, range?: ByteRange): Promise<Readable>;
  /** Deletes a received or placed file. A missing file is no error. */
  delete(key: string): Promise<void>;
  /** Keys of received and placed files that were last written before `before`. */
  listOlderThan(before: Date): AsyncIterable<string>;
  /** Rejects when files cannot be stored now. */
  check(): Promise<void>;
  close(): void;
}

const KEY = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const isStorageKey = (name: string): boolean => KEY.test(name);

/** Throws for any string that is not a key, so every path and URL is built from a valid key. */
export const asStorageKey = (key: string): string => {
  if (!isStorageKey(key)) throw new Error('not a storage key');
  return key;
};
