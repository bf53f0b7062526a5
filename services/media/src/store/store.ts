/** The collections of this service. */
import type { Logger } from '@fitness/shared/kernel/log.ts';
import type { ClientSession, Connection } from '@fitness/shared/mongo/connect.ts';
import { inTransaction, type TransactionOptions } from '@fitness/shared/mongo/transaction.ts';
import { type AttachmentGuards, createAttachmentGuards } from './attachment-guards.ts';
import { createMedia, type Media } from './media.ts';

export interface Store {
  media: Media;
  attachmentGuards: AttachmentGuards;
  transaction<T>(work: (session: ClientSession) => Promise<T>, options?: TransactionOptions): Promise<T>;
}

export const createStore = (connection: Connection, log: Logger): Store => ({
  media: createMedia(connection),
  attachmentGuards: createAttachmentGuards(connection),
  transaction: (work, options) => inTransaction(connection, work, { log, ...options }),
});
