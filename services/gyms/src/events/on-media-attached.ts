import { mediaAttached } from '@fitness/proto/events/media.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/events/consumer.ts';
import type { AttachLicense } from '../app/license-document.ts';
import { isGymLicense } from './is-gym-license.ts';

/** Repeats what the upload told at once, for the case that it could not; nothing happens then or when it is old. */
export const onMediaAttached = (attachLicense: AttachLicense): EventConsumer =>
  onEvent(mediaAttached, async ({ data }, { session }) => {
    if (!isGymLicense(data)) return;
    const document = { gymId: data.attachable_id, mediaId: data.media_id, filename: data.filename };
    await attachLicense(session, document);
  });
