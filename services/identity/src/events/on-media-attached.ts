import { mediaAttached } from '@fitness/proto/events/media.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/events/consumer.ts';
import type { AttachLicence } from '../app/license-document.ts';
import { isTrainerLicense } from './is-trainer-license.ts';

/** Repeats what the upload told at once, for the case that it could not; nothing happens then or when it is old. */
export const onMediaAttached = (attachLicence: AttachLicence): EventConsumer =>
  onEvent(mediaAttached, async ({ data }, { session }) => {
    if (!isTrainerLicense(data)) return;
    const document = { userId: data.attachable_id, mediaId: data.media_id, filename: data.filename };
    await attachLicence(session, document);
  });
