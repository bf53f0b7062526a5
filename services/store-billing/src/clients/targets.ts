/** Targets of boosts, read from the gyms and content services. */
import type { ContentDefinition } from '@fitness/proto/gen/fitness/content/v1/Content.ts';
import type { GymsDefinition } from '@fitness/proto/gen/fitness/gyms/v1/Gyms.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import type { Target } from '../domain/target.ts';

interface TargetState {
  /** Null while a gym has no owner. */
  ownerId: number | null;
  isActive: boolean;
}

export interface Targets {
  /** Undefined if it does not exist. Throws `unavailable` if its service does not respond. */
  find(target: Target): Promise<TargetState | undefined>;
}

export const createTargets = (
  gyms: GrpcClient<GymsDefinition>,
  content: GrpcClient<ContentDefinition>,
): Targets => ({
  find: async ({ type, id }) => {
    // No resource has such an id, and protobuf cannot encode it.
    if (!Number.isSafeInteger(id) || id <= 0) return undefined;
    const request = { ids: [id] };
    if (type === 'gym') {
      const answer = await gyms.call('GetGyms', request, { retry: true });
      const gym = answer.gyms.find((row) => row.id === id);
      return gym && { ownerId: gym.user_id ?? null, isActive: gym.is_active };
    }
    const answer = await content.call('GetTrainingServices', request, { retry: true });
    const service = answer.training_services.find((row) => row.id === id);
    return service && { ownerId: service.user_id, isActive: service.is_active };
  },
});
