import { mediaAttached } from '@fitness/proto/events/media.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';
import { isGymLicense } from './is-gym-license.ts';

/** Has an effect only when the call `Gyms.AttachLicense` of the upload was lost. */
export const onMediaAttached = ({ attachLicense }: Pick<UseCases, 'attachLicense'>): EventConsumer =>
  onEvent(mediaAttached, async ({ data }, { session }) => {
    if (!isGymLicense(data)) return;
    const document = { gymId: data.attachable_id, mediaId: data.media_id, filename: data.filename };
    await attachLicense(document, session);
  });
