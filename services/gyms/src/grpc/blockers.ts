import { invalid, message, notFound } from '@fitness/shared/error.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { type GrpcService, grpcService } from '@fitness/shared/grpc/server.ts';
import type { EvaluateBlocker } from '../app/blockers/gym-ownership.ts';

/** The blockers of this service by code; any other code is NOT_FOUND. */
export type GymBlockers = Record<'gym_ownership', EvaluateBlocker>;

export const blockersGrpc = (blockers: GymBlockers): GrpcService =>
  grpcService(grpcDefinitions.blockers(), {
    Evaluate: async ({ user_id: userId, code }) => {
      if (!Object.hasOwn(blockers, code)) throw notFound('unknown_blocker', code);
      if (!Number.isSafeInteger(userId) || userId <= 0) {
        throw invalid({ user_id: message('validation.invalid') });
      }
      const extras = await blockers[code as keyof GymBlockers](userId);
      return { applies: extras !== undefined, extras_json: JSON.stringify(extras ?? {}) };
    },
  });
