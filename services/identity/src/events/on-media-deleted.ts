import { mediaDeleted } from '@fitness/proto/events/media.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/events/consumer.ts';
import type { ForgetLicence } from '../app/license-document.ts';
import { isTrainerLicense } from './is-trainer-license.ts';

export const onMediaDeleted = (forgetLicence: ForgetLicence): EventConsumer =>
  onEvent(mediaDeleted, async ({ data }, { session }) => {
    if (!isTrainerLicense(data)) return;
    await forgetLicence(session, { userId: data.attachable_id, mediaId: data.media_id });
  });
