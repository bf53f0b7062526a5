import { mediaDeleted } from '@fitness/proto/events/media.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';
import { isPublicFileOfUser, isTrainerLicense } from './is-trainer-license.ts';

export const onMediaDeleted = ({ detachLicense, refreshMedia }: UseCases): EventConsumer =>
  onEvent(mediaDeleted, async ({ data, time }, { session }) => {
    if (isPublicFileOfUser(data)) return refreshMedia(session, data.attachable_type, data.attachable_id);
    if (!isTrainerLicense(data)) return;
    const byOperator = data.by_operator === true;
    await detachLicense(
      { userId: data.attachable_id, mediaId: data.media_id, byOperator, at: time },
      session,
    );
  });
