import { invalid, message } from '@fitness/shared/error.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { type GrpcService, grpcService } from '@fitness/shared/grpc/server.ts';
import type { DeleteMedia } from '../app/delete-media.ts';
import type { ListMedia } from '../app/list-media.ts';
import { toMedia } from '../app/media-resource.ts';

export interface MediaGrpcParts {
  listMedia: ListMedia;
  deleteMedia: DeleteMedia;
  baseUrl: string;
}

export const mediaGrpc = ({ listMedia, deleteMedia, baseUrl }: MediaGrpcParts): GrpcService =>
  grpcService(grpcDefinitions.media(), {
    GetMedia: async ({ targets }) => {
      const rows = await listMedia(targets);
      return { media: rows.map((row) => toMedia(row, baseUrl)) };
    },
    DeleteByPurpose: async ({ target, purpose, up_to_media_id: upTo }) => {
      if (target === null) throw invalid({ target: message('validation.required') });
      return { deleted: await deleteMedia.byPurpose(target, purpose, upTo) };
    },
  });
