/** The deletion blockers that content owns. */
import { notFound } from '@fitness/shared/error.ts';
import { grpcDefinitions } from '@fitness/shared/grpc/load.ts';
import { type GrpcService, grpcService } from '@fitness/shared/grpc/server.ts';
import type { UseCases } from '../app/use-cases.ts';

export const blockersGrpc = (useCases: UseCases): GrpcService => {
  const blockers: Record<string, (userId: number) => Promise<object | undefined>> = {
    active_trainees: useCases.activeTrainees,
  };
  return grpcService(grpcDefinitions.blockers(), {
    Evaluate: async ({ user_id, code }) => {
      const evaluate = Object.hasOwn(blockers, code) ? blockers[code] : undefined;
      if (evaluate === undefined) throw notFound('blocker.unknown', `content does not own ${code}`);
      const extras = await evaluate(user_id);
      return { applies: extras !== undefined, extras_json: JSON.stringify(extras ?? {}) };
    },
  });
};
