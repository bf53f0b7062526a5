/** The license documents of gyms, stored by the media service. */
import { MODEL } from '@fitness/contracts/model-names.ts';
import type { MediaDefinition } from '@fitness/proto/gen/fitness/media/v1/Media.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';

const DEADLINE_MS = 1_000;

export interface LicenseDocuments {
  /**
   * Deletes a cleared license document at media before the response is sent. Never rejects, because media also deletes it on the
   * event `gyms.gym.license_cleared`.
   */
  delete(gymId: number, mediaId: number): Promise<void>;
}

export const createLicenseDocuments = ({
  media,
  log,
}: {
  media: GrpcClient<MediaDefinition>;
  log: Logger;
}): LicenseDocuments => ({
  delete: async (gymId, mediaId) => {
    const target = { attachable_type: MODEL.gym, attachable_id: gymId };
    const request = { target, purpose: 'gym_license', up_to_media_id: mediaId };
    try {
      await media.call('DeleteByPurpose', request, { deadlineMs: DEADLINE_MS });
    } catch (error) {
      log.warn({ err: error, gym_id: gymId }, 'the cleared license document is deleted on its event only');
    }
  },
});
