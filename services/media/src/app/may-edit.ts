/** Who may see a target's files, and who may attach and delete them. */
import { type Caller, can, isOwn, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import type { TargetState } from '../clients/targets.ts';

/** Whether the caller owns the target. A restricted or OAuth token without `permission` owns nothing. */
export const owns = (caller: Caller, { ownerId }: TargetState, permission?: Permission): boolean =>
  isOwn(caller, ownerId, permission);

/** Whether the caller is the owner and has the permission that editing the target requires. */
export const mayEditOwn = (caller: UserCaller, target: TargetState): boolean =>
  owns(caller, target) && (target.ownerPermission === undefined || can(caller, target.ownerPermission));

export const mayEdit = (caller: UserCaller, target: TargetState): boolean =>
  mayEditOwn(caller, target) ||
  [target.editPermission, ...(target.protectedBy ?? [])].every((permission) => can(caller, permission));

export const maySee = (caller: Caller, target: TargetState): boolean =>
  target.isPublic || owns(caller, target, target.ownViewPermission) || can(caller, target.viewPermission);
