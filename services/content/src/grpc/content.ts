import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { type GrpcService, grpcService } from '@fitness/shared/grpc/server.ts';
import type { UseCases } from '../use-cases.ts';

/** `fitness.content.v1.Content`. */
export const createContentService = ({ lookUpPosts, lookUpTrainingServices }: UseCases): GrpcService =>
  grpcService(grpcDefinitions.content(), {
    GetTrainingServices: async ({ ids }) => ({ training_services: await lookUpTrainingServices(ids) }),
    GetPosts: async ({ ids }) => ({ posts: await lookUpPosts(ids) }),
  });
