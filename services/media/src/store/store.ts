/** The collections of this service. */
import type { Logger } from '@fitness/shared/kernel/log.ts';
import type { ClientSession, Connection } from '@fitness/shared/mongo/connect.ts';
import { inTransaction } from '@fitness/shared/mongo/transaction.ts';
import { type AttachmentGuards, createAttachmentGuards } from './attachment-guards.ts';
import { createMedia, type Media } from './media.ts';

export interface Store {
  media: Media;
  attachmentGuards: AttachmentGuards;
  transaction<T>(work: (session: ClientSession) => Promise<T>): Promise<T>;
}

export const createStore = (connection: Connection, log: Logger): Store => ({
  media: createMedia(connection),
  attachmentGuards: createAttachmentGuards(connection),
  transaction: (work) => inTransaction(connection, work, { log }),
});
