import type { Readable } from 'node:stream';
import type { Dependencies } from '../dependencies.ts';
import type { StoredFile } from '../domain/media.ts';

/** Stores the bytes of an upload until it is accepted or refused. */
export interface ReceiveFile {
  /** Nothing remains stored when it fails. */
  keep(content: Readable): Promise<StoredFile>;
  discard(file: StoredFile): Promise<void>;
}

export const createReceiveFile = ({ storage }: Dependencies): ReceiveFile => ({
  keep: (content) => storage.receive(content),
  discard: (file) => storage.discard(file),
});
