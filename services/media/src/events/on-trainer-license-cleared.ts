import { MODEL } from '@fitness/contracts/model-names.ts';
import { trainerLicenseCleared } from '@fitness/proto/events/identity.ts';
import { type EventConsumer, onEvent } from '@fitness/shared/messaging/consumer.ts';
import type { UseCases } from '../use-cases.ts';

/** Deletes the cleared document. A document uploaded since then has a larger id and remains. */
export const onTrainerLicenseCleared = ({ deleteMediaByPurpose }: UseCases): EventConsumer =>
  onEvent(trainerLicenseCleared, async ({ data }) => {
    const user = { attachable_type: MODEL.user, attachable_id: data.user_id };
    await deleteMediaByPurpose(user, 'trainer_license', data.media_id);
  });
