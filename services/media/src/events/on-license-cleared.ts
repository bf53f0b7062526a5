import { MODEL } from '@fitness/contracts/model-names.ts';
import { gymLicenseCleared } from '@fitness/proto/events/gyms.ts';
import { trainerLicenseCleared } from '@fitness/proto/events/identity.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

/** Deletes the cleared document. A document uploaded since then has a larger id and remains. */
export const onLicenseCleared = ({ deleteMediaByPurpose }: UseCases): EventConsumer[] => [
  onEvent(gymLicenseCleared, async ({ data }) => {
    const gym = { attachable_type: MODEL.gym, attachable_id: data.gym_id };
    await deleteMediaByPurpose(gym, 'gym_license', data.media_id);
  }),
  onEvent(trainerLicenseCleared, async ({ data }) => {
    const user = { attachable_type: MODEL.user, attachable_id: data.user_id };
    await deleteMediaByPurpose(user, 'trainer_license', data.media_id);
  }),
];
