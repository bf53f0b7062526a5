import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { type GrpcService, grpcService } from '@fitness/shared/grpc/server.ts';
import type { EvaluateBlocker } from '../app/blockers/active-premium.ts';

export const blockersGrpc = (evaluate: EvaluateBlocker): GrpcService =>
  grpcService(grpcDefinitions.blockers(), {
    Evaluate: async ({ user_id, code }) => {
      const { applies, extras } = await evaluate(user_id, code);
      return { applies, extras_json: JSON.stringify(extras) };
    },
  });
