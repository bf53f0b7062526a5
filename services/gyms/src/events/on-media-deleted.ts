import { mediaDeleted } from '@fitness/proto/events/media.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';
import { isGymLicense, isPublicFileOfGym } from './is-gym-license.ts';

export const onMediaDeleted = ({ detachLicense, refreshMedia }: UseCases): EventConsumer =>
  onEvent(mediaDeleted, async ({ data }, { session }) => {
    if (isPublicFileOfGym(data)) return refreshMedia(session, data.attachable_type, data.attachable_id);
    if (!isGymLicense(data)) return;
    const byOperator = data.by_operator === true;
    await detachLicense({ gymId: data.attachable_id, mediaId: data.media_id, byOperator }, session);
  });
