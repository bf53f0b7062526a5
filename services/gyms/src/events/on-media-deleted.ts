import { mediaDeleted } from '@fitness/proto/events/media.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/events/consumer.ts';
import type { ForgetLicense } from '../app/license-document.ts';
import { isGymLicense } from './is-gym-license.ts';

export const onMediaDeleted = (forgetLicense: ForgetLicense): EventConsumer =>
  onEvent(mediaDeleted, async ({ data }, { session }) => {
    if (!isGymLicense(data)) return;
    await forgetLicense(session, { gymId: data.attachable_id, mediaId: data.media_id });
  });
