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
  /** What its owner needs to attach files to it, as for a change of it; undefined where owning it is enough. */
  ownerNeeds: Permission | undefined;
  /** Whoever holds it may attach files to any such target. */
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

/** Which permissions each kind of target goes by: those that its owner's service asks for a change of it. */
const PERMISSIONS = {
  user: { viewPermission: 'users.view_all', ownerNeeds: undefined, editPermission: 'users.update_any' },
  gym: { viewPermission: 'gyms.view_all', ownerNeeds: 'gyms.update', editPermission: 'gyms.update_any' },
  post: { viewPermission: 'posts.view_all', ownerNeeds: 'posts.create', editPermission: 'posts.update_any' },
  training_service: {
    viewPermission: 'training_services.update_any',
    ownerNeeds: 'training_services.create',
    editPermission: 'training_services.update_any',
  },
} as const satisfies Record<
  AttachableKind,
  Pick<TargetState, 'viewPermission' | 'ownerNeeds' | 'editPermission'>
>;

export const createTargets = ({ identity, gyms, content }: TargetClients): Targets => {
  const finders: Record<AttachableKind, (id: number) => Promise<TargetState | undefined>> = {
    user: async (id) => {
      const [user] = (await identity.call('GetUsers', { ids: [id] }, READ)).users;
      return user && { ownerId: user.id, isPublic: true, ...PERMISSIONS.user };
    },
    gym: async (id) => {
      const [gym] = (await gyms.call('GetGyms', { ids: [id] }, READ)).gyms;
      return gym && { ownerId: gym.user_id, isPublic: gym.is_active, ...PERMISSIONS.gym };
    },
    post: async (id) => {
      const [post] = (await content.call('GetPosts', { ids: [id] }, READ)).posts;
      return post && { ownerId: post.owner_user_id, isPublic: post.is_public, ...PERMISSIONS.post };
    },
    training_service: async (id) => {
      const [found] = (await content.call('GetTrainingServices', { ids: [id] }, READ)).training_services;
      if (found === undefined) return undefined;
      const state = { ownerId: found.user_id, isPublic: found.is_active, ...PERMISSIONS.training_service };
      if (!found.is_active) return state;
      const seller = await identity.call('GetHiddenUsers', { ids: [found.user_id] }, READ);
      if (seller.gone_ids.includes(found.user_id)) return undefined;
      // A seller whose deletion is pending is hidden, and his services with him, but from those who see everybody.
      const isHidden = seller.pending_ids.includes(found.user_id);
      return isHidden ? { ...state, isPublic: false, viewPermission: 'users.view_all' } : state;
    },
  };
  return { find: (kind, id) => finders[kind](id) };
};
