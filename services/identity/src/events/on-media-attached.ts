import { mediaAttached } from '@fitness/proto/events/media.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';
import { isPublicFileOfUser, isTrainerLicense } from './is-trainer-license.ts';

/** Has an effect only when the upload's call to `AttachLicense` or `MediaCopies.Save` was lost. */
export const onMediaAttached = ({ attachLicense, refreshMedia }: UseCases): EventConsumer =>
  onEvent(mediaAttached, async ({ data }, { session }) => {
    if (isPublicFileOfUser(data)) return refreshMedia(session, data.attachable_type, data.attachable_id);
    if (!isTrainerLicense(data)) return;
    const document = { userId: data.attachable_id, mediaId: data.media_id, filename: data.filename };
    await attachLicense(document, session);
  });
