/** What identity asks of the media service. */
import type { MediaDefinition } from '@fitness/proto/gen/fitness/media/v1/Media.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import type { Logger } from '@fitness/shared/log.ts';
import { MODEL } from '@fitness/shared/models.ts';

export interface MediaResource {
  id: number;
  attachable_type: string;
  attachable_id: number;
  link: string;
  filename: string;
  mime_type: string;
  size: number;
  purpose: null;
  created_at: string;
}

export interface UserMedia {
  /** Public media by user id, one call for all. Decoration: empty when media does not answer in time. */
  findPublic(userIds: readonly number[]): Promise<Map<number, MediaResource[]>>;
  /** Deletes this licence document; one that is newer stays. Throws `unavailable` when media does not answer. */
  deleteTrainerLicense(userId: number, mediaId: number): Promise<void>;
}

const DECORATION_DEADLINE_MS = 500;

export const createUserMedia = (media: GrpcClient<MediaDefinition>, log: Logger): UserMedia => ({
  findPublic: async (userIds) => {
    if (userIds.length === 0) return new Map();
    const targets = userIds.map((id) => ({ attachable_type: MODEL.user, attachable_id: id }));
    try {
      const answer = await media.call('GetMedia', { targets }, { deadlineMs: DECORATION_DEADLINE_MS });
      const rows = answer.media.map((row) => ({ ...row, purpose: null }));
      return Map.groupBy(rows, (row) => row.attachable_id);
    } catch (error) {
      log.warn({ err: error }, 'users are shown without their media');
      return new Map();
    }
  },
  deleteTrainerLicense: async (userId, mediaId) => {
    const target = { attachable_type: MODEL.user, attachable_id: userId };
    const request = { target, purpose: 'trainer_license', up_to_media_id: mediaId };
    await media.call('DeleteByPurpose', request, { retry: true });
  },
});
