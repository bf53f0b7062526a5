import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { type GrpcService, grpcService } from '@fitness/shared/grpc/server.ts';
import { assertMaxItems, invalid, message, notFound } from '@fitness/shared/kernel/error.ts';
import { z } from 'zod';
import type { UseCases } from '../use-cases.ts';

const MAX_IDS = 200;

const document = z.object({
  gym_id: z.int().positive(),
  media_id: z.int().positive(),
  filename: z.string().min(1),
});

/** `fitness.gyms.v1.Gyms`. */
export const createGymsService = ({ findGyms, attachLicense }: UseCases): GrpcService =>
  grpcService(grpcDefinitions.gyms(), {
    GetGyms: async ({ ids }) => {
      const unique = [...new Set(ids)];
      assertMaxItems('ids', unique, MAX_IDS);
      const gyms = await findGyms(unique);
      return {
        gyms: gyms.map((gym) => ({
          id: gym.id,
          name: gym.name ?? '',
          is_active: gym.isActive,
          version: gym.version,
          ...(gym.ownerId === null ? {} : { user_id: gym.ownerId }),
        })),
      };
    },
    AttachLicense: async (request) => {
      const parsed = document.safeParse(request);
      if (!parsed.success) throw invalid({ document: message('validation.invalid') });
      const { gym_id: gymId, media_id: mediaId, filename } = parsed.data;
      const current = await attachLicense({ gymId, mediaId, filename });
      if (current === undefined) throw notFound();
      return { current };
    },
  });
