/** The licence documents, which media stores. */
import type { MediaDefinition } from '@fitness/proto/gen/fitness/media/v1/Media.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import type { Logger } from '@fitness/shared/log.ts';
import { MODEL } from '@fitness/shared/models.ts';

const DEADLINE_MS = 1_000;

export interface Documents {
  /**
   * Asks media to delete a cleared licence document now, so that it is gone when its clearing is answered. Never
   * rejects: the event `gyms.gym.license_cleared` sees to it when this does not.
   */
  hurryDeletion(gymId: number, mediaId: number): Promise<void>;
}

export const createDocuments = (media: GrpcClient<MediaDefinition>, log: Logger): Documents => ({
  hurryDeletion: async (gymId, mediaId) => {
    const target = { attachable_type: MODEL.gym, attachable_id: gymId };
    const request = { target, purpose: 'gym_license', up_to_media_id: mediaId };
    try {
      await media.call('DeleteByPurpose', request, { deadlineMs: DEADLINE_MS });
    } catch (error) {
      log.warn({ err: error, gym_id: gymId }, 'a cleared licence document is deleted by its event');
    }
  },
});
