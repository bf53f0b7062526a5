/** The state of a target. It is read from the target's service at each upload and download, and never cached. */
import type { ContentDefinition } from '@fitness/proto/gen/fitness/content/v1/Content.ts';
import type { GymsDefinition } from '@fitness/proto/gen/fitness/gyms/v1/Gyms.ts';
import type { IdentityDefinition } from '@fitness/proto/gen/fitness/identity/v1/Identity.ts';
import type { GrpcClient } from '@fitness/shared/grpc/client.ts';
import { isPermission, type Permission } from '@fitness/shared/kernel/permissions.ts';
import type { AttachableKind } from '../domain/attachable.ts';

export interface TargetState {
  /** Undefined for a target without an owner. */
  ownerId: number | undefined;
  /** Everyone may see its files. */
  isPublic: boolean;
  /** Permission to see the files of a target that is not public. */
  viewPermission: Permission;
  /** Permission that the owner's restricted and OAuth tokens need to see the files of a target that is not public. */
  ownViewPermission: Permission | undefined;
  /** Permission that the owner needs to edit the files. Undefined means none. */
  ownerPermission: Permission | undefined;
  /** Permission to edit the files of every target of this kind. */
  editPermission: Permission;
  /** Permissions that everyone except the owner needs in addition. */
  protectedBy?: readonly Permission[];
}

export interface Targets {
  /** Undefined when there is no such target. Throws `unavailable` when its service does not respond. */
  find(kind: AttachableKind, id: number): Promise<TargetState | undefined>;
}

export interface TargetClients {
  identity: GrpcClient<IdentityDefinition>;
  gyms: GrpcClient<GymsDefinition>;
  content: GrpcClient<ContentDefinition>;
}

const READ = { retry: true };

/** The permissions that the service of each kind of target requires to see and edit the target itself. */
const PERMISSIONS = {
  user: {
    viewPermission: 'users.view_all',
    ownViewPermission: undefined,
    ownerPermission: undefined,
    editPermission: 'users.update_any',
  },
  gym: {
    viewPermission: 'gyms.view_all',
    ownViewPermission: 'gyms.update',
    ownerPermission: 'gyms.update',
    editPermission: 'gyms.update_any',
  },
  post: {
    viewPermission: 'posts.view_all',
    ownViewPermission: 'posts.view',
    ownerPermission: 'posts.create',
    editPermission: 'posts.update_any',
  },
  training_service: {
    viewPermission: 'training_services.update_any',
    ownViewPermission: 'training_services.create',
    ownerPermission: 'training_services.create',
    editPermission: 'training_services.update_any',
  },
} as const satisfies Record<
  AttachableKind,
  Pick<TargetState, 'viewPermission' | 'ownViewPermission' | 'ownerPermission' | 'editPermission'>
>;

/**
 * The permissions with which identity protects the account itself. An identity process of an older release sends none, and the
 * account is treated as a member's until that process is replaced. Refusing would block all operators during every such
 * rolling update.
 */
const protectionOf = (operatorPermissions: readonly string[]): Permission[] =>
  operatorPermissions.length === 0 ? [] : ['roles.manage', ...operatorPermissions.filter(isPermission)];

export const createTargets = ({ identity, gyms, content }: TargetClients): Targets => {
  const finders: Record<AttachableKind, (id: number) => Promise<TargetState | undefined>> = {
    user: async (id) => {
      const [user] = (await identity.call('GetUsers', { ids: [id] }, READ)).users;
      if (user === undefined) return undefined;
      const protectedBy = protectionOf(user.operator_permissions);
      return { ownerId: user.id, isPublic: true, ...PERMISSIONS.user, protectedBy };
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
      const [service] = (await content.call('GetTrainingServices', { ids: [id] }, READ)).training_services;
      if (service === undefined) return undefined;
      const state = {
        ownerId: service.user_id,
        isPublic: service.is_active,
        ...PERMISSIONS.training_service,
      };
      if (!service.is_active) return state;
      const seller = await identity.call('GetHiddenUsers', { ids: [service.user_id] }, READ);
      if (seller.gone_ids.includes(service.user_id)) return undefined;
      // While the deletion of the seller is pending, only the seller and `users.view_all` see the service.
      const isHidden = seller.pending_ids.includes(service.user_id);
      return isHidden ? { ...state, isPublic: false, viewPermission: 'users.view_all' } : state;
    },
  };
  return { find: (kind, id) => finders[kind](id) };
};
