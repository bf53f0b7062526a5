import type { GymsDefinition } from '@fitness/proto/gen/fitness/gyms/v1/Gyms.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import type { VersionedProfileState } from '../domain/profile.ts';

export interface Gyms {
  /** The current states of at most 200 gyms, by id. Unknown gyms are missing. Throws `unavailable`. */
  find(ids: readonly number[]): Promise<Map<number, VersionedProfileState>>;
}

export const createGyms = (gyms: GrpcClient<GymsDefinition>): Gyms => ({
  find: async (ids) => {
    const unique = [...new Set(ids)];
    if (unique.length === 0) return new Map();
    const answer = await gyms.call('GetGyms', { ids: unique }, { retry: true });
    return new Map(
      answer.gyms.map(({ id, user_id, is_active, version }) => [
        id,
        { state: { ownerUserId: user_id ?? null, isActive: is_active, gone: false }, version },
      ]),
    );
  },
});
