/** The license documents of trainers, stored by the media service. */
import { MODEL } from '@fitness/contracts/model-names.ts';
import type { MediaDefinition } from '@fitness/proto/gen/fitness/media/v1/Media.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';

export interface LicenseDocuments {
  /** Deletes this document and older ones, but none that is newer. Throws `unavailable` when media does not answer. */
  delete(userId: number, mediaId: number): Promise<void>;
}

export const createLicenseDocuments = (media: GrpcClient<MediaDefinition>): LicenseDocuments => ({
  delete: async (userId, mediaId) => {
    const target = { attachable_type: MODEL.user, attachable_id: userId };
    const request = { target, purpose: 'trainer_license', up_to_media_id: mediaId };
    await media.call('DeleteByPurpose', request, { retry: true });
  },
});
