import { invalid, message } from '@fitness/shared/error.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { type GrpcService, grpcService } from '@fitness/shared/grpc/server.ts';
import type { DeleteMedia } from '../app/delete-media.ts';
import { toMedia } from '../app/media-resource.ts';
import type { MediaStore } from '../store/media.ts';

const MAX_TARGETS = 200;

export interface MediaGrpcParts {
  media: MediaStore;
  deleteMedia: DeleteMedia;
  baseUrl: string;
}

export const mediaGrpc = ({ media, deleteMedia, baseUrl }: MediaGrpcParts): GrpcService =>
  grpcService(grpcDefinitions.media(), {
    GetMedia: async ({ targets }) => {
      if (targets.length > MAX_TARGETS) {
        throw invalid({ targets: message('validation.max_items', { max: MAX_TARGETS }) });
      }
      const rows = await media.findPublic(targets);
      return { media: rows.map((row) => toMedia(row, baseUrl)) };
    },
    DeleteByPurpose: async ({ target, purpose, up_to_media_id: upTo }) => {
      if (target === null) throw invalid({ target: message('validation.required') });
      return { deleted: await deleteMedia.byPurpose(target, purpose, upTo) };
    },
  });
