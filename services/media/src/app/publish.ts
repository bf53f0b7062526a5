/** Events of a row, published in the transaction that changes it. */
import { mediaAttached, mediaDeleted } from '@fitness/proto/events/media.ts';
import type { Outbox } from '@fitness/shared/messaging/outbox.ts';
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

/** A row never changes: version 1 is its attachment, version 2 its deletion. */
export const publishAttached = (outbox: Outbox, session: ClientSession, row: MediaRow): Promise<void> =>
  outbox.publish(session, mediaAttached, { subject: row._id, aggregateVersion: 1, data: toEvent(row) });

export const publishDeleted = (
  outbox: Outbox,
  session: ClientSession,
  row: MediaRow,
  byOperator = false,
): Promise<void> =>
  outbox.publish(session, mediaDeleted, {
    subject: row._id,
    aggregateVersion: 2,
    data: { ...toEvent(row), ...(byOperator ? { by_operator: true } : {}) },
  });
