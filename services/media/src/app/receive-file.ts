import type { Readable } from 'node:stream';
import type { Storage } from '../clients/storage.ts';
import type { StoredFile } from '../domain/media.ts';

/** Bytes that arrive before it is known whether they are wanted. */
export interface ReceiveFile {
  /** Nothing is left behind when it fails. */
  keep(content: Readable): Promise<StoredFile>;
  discard(file: StoredFile): Promise<void>;
}

export const createReceiveFile = (storage: Storage): ReceiveFile => ({
  keep: (content) => storage.receive(content),
  discard: (file) => storage.discard(file),
});
