/** What a file is attached to, asked of its owner at each upload and download, never answered from a copy. */
import type { ContentDefinition } from '@fitness/proto/gen/fitness/content/v1/Content.ts';
import type { GymsDefinition } from '@fitness/proto/gen/fitness/gyms/v1/Gyms.ts';
import type { IdentityDefinition } from '@fitness/proto/gen/fitness/identity/v1/Identity.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import type { Permission } from '@fitness/shared/permissions.ts';
import type { AttachableKind } from '../domain/attachable.ts';

export interface TargetState {
  /** Undefined while nobody owns it. */
  ownerId: number | undefined;
  /** Everyone may see its public files. */
  isPublic: boolean;
  /** Whoever holds it sees its files, public or not. */
  viewPermission: Permission;
  /** Whoever holds it may attach files to it. */
  editPermission: Permission;
}

export interface Targets {
  /** Undefined when there is no such target. Throws `unavailable` when its owner does not answer. */
  find(kind: AttachableKind, id: number): Promise<TargetState | undefined>;
}

export interface TargetClients {
  identity: GrpcClient<IdentityDefinition>;
  gyms: GrpcClient<GymsDefinition>;
  content: GrpcClient<ContentDefinition>;
}

const READ = { retry: true };

export const createTargets = ({ identity, gyms, content }: TargetClients): Targets => {
  const finders: Record<AttachableKind, (id: number) => Promise<TargetState | undefined>> = {
    user: async (id) => {
      const { users } = await identity.call('GetUsers', { ids: [id] }, READ);
      const permissions = { viewPermission: 'users.view_all', editPermission: 'users.update_any' } as const;
      return users[0] && { ownerId: users[0].id, isPublic: true, ...permissions };
    },
    gym: async (id) => {
      const { gyms: found } = await gyms.call('GetGyms', { ids: [id] }, READ);
      const permissions = { viewPermission: 'gyms.view_all', editPermission: 'gyms.update_any' } as const;
      return found[0] && { ownerId: found[0].user_id, isPublic: found[0].is_active, ...permissions };
    },
    post: async (id) => {
      const { posts } = await content.call('GetPosts', { ids: [id] }, READ);
      const permissions = { viewPermission: 'posts.view_all', editPermission: 'posts.update_any' } as const;
      return posts[0] && { ownerId: posts[0].owner_user_id, isPublic: posts[0].is_public, ...permissions };
    },
    training_service: async (id) => {
      const { training_services } = await content.call('GetTrainingServices', { ids: [id] }, READ);
      const permissions = {
        viewPermission: 'posts.view_all',
        editPermission: 'training_services.update_any',
      } as const;
      const [found] = training_services;
      return found && { ownerId: found.user_id, isPublic: found.is_active, ...permissions };
    },
  };
  return { find: (kind, id) => finders[kind](id) };
};
