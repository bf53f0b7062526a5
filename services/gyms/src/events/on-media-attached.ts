import { mediaAttached } from '@fitness/proto/events/media.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';
import { isGymLicense, isPublicFileOfGym } from './is-gym-license.ts';

/** Has an effect only if the upload's call of `Gyms.AttachLicense` or `MediaCopies.Save` was lost. */
export const onMediaAttached = ({ attachLicense, refreshMedia }: UseCases): EventConsumer =>
  onEvent(mediaAttached, async ({ data }, { session }) => {
    if (isPublicFileOfGym(data)) return refreshMedia(session, data.attachable_type, data.attachable_id);
    if (!isGymLicense(data)) return;
    const document = { gymId: data.attachable_id, mediaId: data.media_id, filename: data.filename };
    await attachLicense(document, session);
  });
