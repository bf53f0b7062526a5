/** `fitness.common.v1.Blockers`: what of the wallet stands in the way of deleting an account. */
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { type GrpcService, grpcService } from '@fitness/shared/grpc/server.ts';
import type { EvaluateBlocker } from '../app/blockers/evaluate-blocker.ts';

export const blockersGrpc = (evaluateBlocker: EvaluateBlocker): GrpcService =>
  grpcService(grpcDefinitions.blockers(), {
    Evaluate: async ({ user_id: userId, code }) => {
      const { applies, extras } = await evaluateBlocker(userId, code);
      return { applies, extras_json: JSON.stringify(extras) };
    },
  });
