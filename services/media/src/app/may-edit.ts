/** Who may attach files to a target and take them away. */
import { type Caller, can, type UserCaller } from '@fitness/shared/caller.ts';
import type { TargetState } from '../clients/targets.ts';

export const owns = (caller: Caller, target: TargetState): boolean =>
  caller.kind === 'user' && target.ownerId !== undefined && target.ownerId === caller.userId;

/** The owner, with the permission that a change of the target itself asks of him. */
export const mayEditOwn = (caller: UserCaller, target: TargetState): boolean =>
  owns(caller, target) && (target.ownerNeeds === undefined || can(caller, target.ownerNeeds));

export const mayEdit = (caller: UserCaller, target: TargetState): boolean =>
  mayEditOwn(caller, target) || can(caller, target.editPermission);

/** Whether the target's files are there to be seen by `caller`. */
export const maySee = (caller: Caller, target: TargetState): boolean =>
  target.isPublic || owns(caller, target) || can(caller, target.viewPermission);
