import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { type GrpcService, grpcService } from '@fitness/shared/grpc/server.ts';
import { invalid, message } from '@fitness/shared/kernel/error.ts';
import type { UseCases } from '../use-cases.ts';

export const createMediaService = ({ copyMedia, deleteMediaByPurpose }: UseCases): GrpcService =>
  grpcService(grpcDefinitions.media(), {
    GetCopies: async ({ targets }) => {
      const copies = await copyMedia(targets);
      return {
        copies: copies.map(({ model, id, version, files }) => ({
          target: { attachable_type: model, attachable_id: id },
          version,
          files: [...files],
        })),
      };
    },
    DeleteByPurpose: async ({ target, purpose, up_to_media_id: upTo }) => {
      if (target === null) throw invalid({ target: message('validation.required') });
      return { deleted: await deleteMediaByPurpose(target, purpose, upTo) };
    },
  });
