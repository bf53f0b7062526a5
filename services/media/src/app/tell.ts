/** The events of a row, in the transaction of what they tell. */
import { mediaAttached, mediaDeleted } from '@fitness/proto/events/media.ts';
import type { Outbox } from '@fitness/shared/events/outbox.ts';
import type { ClientSession } from '@fitness/shared/mongo/connect.ts';
import type { MediaRow } from '../domain/media.ts';

const toEvent = ({ _id, attachable_type, attachable_id, purpose, filename, uploaded_by }: MediaRow) => ({
  media_id: _id,
  attachable_type,
  attachable_id,
  purpose,
  filename,
  uploaded_by,
});

/** A row never changes: it is attached as version 1 and deleted as version 2. */
export const tellAttached = (outbox: Outbox, session: ClientSession, row: MediaRow): Promise<void> =>
  outbox.emit(session, mediaAttached, { subject: row._id, aggregateVersion: 1, data: toEvent(row) });

export const tellDeleted = (outbox: Outbox, session: ClientSession, row: MediaRow): Promise<void> =>
  outbox.emit(session, mediaDeleted, { subject: row._id, aggregateVersion: 2, data: toEvent(row) });
