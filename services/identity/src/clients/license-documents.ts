/** The license documents of trainers, stored by the media service. */
import { MODEL } from '@fitness/contracts/model-names.ts';
import type { MediaDefinition } from '@fitness/proto/gen/fitness/media/v1/Media.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import type { Logger } from '@fitness/shared/kernel/log.ts';

const DEADLINE_MS = 1_000;

export interface LicenseDocuments {
  /** Deletes this document and older ones, but no newer one. Throws `unavailable` when media does not respond. */
  delete(userId: number, mediaId: number): Promise<void>;
  /**
   * Deletes a document whose clearing is committed, and older ones. Never rejects: media deletes it at the latest when it
   * receives `identity.trainer_license.cleared`.
   */
  deleteCleared(userId: number, mediaId: number): Promise<void>;
}

const requestOf = (userId: number, mediaId: number) => ({
  target: { attachable_type: MODEL.user, attachable_id: userId },
  purpose: 'trainer_license',
  up_to_media_id: mediaId,
});

export const createLicenseDocuments = ({
  media,
  log,
}: {
  media: GrpcClient<MediaDefinition>;
  log: Logger;
}): LicenseDocuments => ({
  delete: async (userId, mediaId) => {
    await media.call('DeleteByPurpose', requestOf(userId, mediaId), { retry: true });
  },
  deleteCleared: async (userId, mediaId) => {
    try {
      await media.call('DeleteByPurpose', requestOf(userId, mediaId), { deadlineMs: DEADLINE_MS });
    } catch (error) {
      log.warn({ err: error, user_id: userId }, 'the cleared license document is deleted on its event only');
    }
  },
});
