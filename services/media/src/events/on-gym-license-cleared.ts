import { gymLicenseCleared } from '@fitness/proto/events/gyms.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/events/consumer.ts';
import { MODEL } from '@fitness/shared/models.ts';
import type { DeleteMedia } from '../app/delete-media.ts';

/** The document that was cleared goes; one that was handed in since has a larger id, and stays. */
export const onGymLicenseCleared = (deleteMedia: DeleteMedia): EventConsumer =>
  onEvent(gymLicenseCleared, async ({ data }) => {
    const gym = { attachable_type: MODEL.gym, attachable_id: data.gym_id };
    await deleteMedia.byPurpose(gym, 'gym_license', data.media_id);
  });
