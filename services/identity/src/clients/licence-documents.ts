/** The licence documents of trainers, which media stores. */
import type { MediaDefinition } from '@fitness/proto/gen/fitness/media/v1/Media.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import { MODEL } from '@fitness/shared/models.ts';

export interface LicenceDocuments {
  /** Deletes this document; one that is newer stays. Throws `unavailable` when media does not answer. */
  delete(userId: number, mediaId: number): Promise<void>;
}

export const createLicenceDocuments = (media: GrpcClient<MediaDefinition>): LicenceDocuments => ({
  delete: async (userId, mediaId) => {
    const target = { attachable_type: MODEL.user, attachable_id: userId };
    const request = { target, purpose: 'trainer_license', up_to_media_id: mediaId };
    await media.call('DeleteByPurpose', request, { retry: true });
  },
});
