/** Who may see a target's files, and who may attach and delete them. */
import { type Caller, can, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import type { TargetState } from '../clients/targets.ts';

export const owns = (caller: Caller, target: TargetState): boolean =>
  caller.kind === 'user' && target.ownerId !== undefined && target.ownerId === caller.userId;

/** The owner, with the permission that editing the target itself requires. */
export const mayEditOwn = (caller: UserCaller, target: TargetState): boolean =>
  owns(caller, target) && (target.ownerPermission === undefined || can(caller, target.ownerPermission));

export const mayEdit = (caller: UserCaller, target: TargetState): boolean =>
  mayEditOwn(caller, target) || can(caller, target.editPermission);

export const maySee = (caller: Caller, target: TargetState): boolean =>
  target.isPublic || owns(caller, target) || can(caller, target.viewPermission);
