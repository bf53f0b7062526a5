/** Who may download a file (specification 4.3 rules 1 to 3). */
import { canSeeAllFields } from '@fitness/contracts/user.ts';
import { type Caller, can, type UserCaller } from '@fitness/shared/kernel/caller.ts';
import { forbidden, notFound, unauthenticated } from '@fitness/shared/kernel/error.ts';
import { missingPermission } from '@fitness/shared/kernel/missing-permission.ts';
import type { Permission } from '@fitness/shared/kernel/permissions.ts';
import type { TargetState, Targets } from '../clients/targets.ts';
import { attachableKind, isPurpose, PURPOSES, type Purpose } from '../domain/attachable.ts';
import type { MediaRow } from '../domain/media.ts';
import { maySee, owns } from './may-edit.ts';

type FindTarget = () => Promise<TargetState | undefined>;
interface Rule {
  may: (caller: UserCaller, row: MediaRow, findTarget: FindTarget) => Promise<boolean>;
  /** Allows the download regardless of the owner. */
  permission: Permission;
}

/** The rule for each purpose of a private document. */
const RULES: Readonly<Record<Purpose, Rule>> = {
  trainer_license: {
    may: async (caller, row) => canSeeAllFields(caller, row.attachable_id),
    permission: 'users.view_all',
  },
  gym_license: {
    may: async (caller, _row, findTarget) => {
      if (can(caller, 'gyms.view_all')) return true;
      const gym = await findTarget();
      return gym !== undefined && owns(caller, gym);
    },
    permission: 'gyms.view_all',
  },
};

/**
 * Throws 401, 403 or 404 unless `caller` may download `row`, and 503 when the target's service does not respond.
 * Returns the reader and the target of a private document, and undefined for any other file.
 */
export const assertMayDownload = async (
  caller: Caller,
  row: MediaRow,
  targets: Targets,
): Promise<{ reader: UserCaller; target: TargetState } | undefined> => {
  if (row.purpose !== null) return assertMayDownloadDocument(caller, row, row.purpose, targets);
  const kind = attachableKind(row.attachable_type);
  const target = kind === undefined ? undefined : await targets.find(kind, row.attachable_id);
  if (target === undefined) throw notFound();
  if (maySee(caller, target)) return undefined;
  if (caller.kind === 'guest') throw unauthenticated();
  const { ownerId, ownViewPermission, viewPermission } = target;
  const ownView = ownerId === caller.userId && ownViewPermission !== undefined ? [ownViewPermission] : [];
  throw missingPermission(caller, { permissions: [...ownView, viewPermission] });
};

const assertMayDownloadDocument = async (
  caller: Caller,
  row: MediaRow,
  purpose: string,
  targets: Targets,
): Promise<{ reader: UserCaller; target: TargetState }> => {
  // Makes no call to the target's service, so the response time reveals nothing to a guest. A purpose without a rule is
  // denied to everyone.
  if (caller.kind === 'guest' || !isPurpose(purpose)) throw forbidden(`purpose ${purpose}`);
  let lookup: Promise<TargetState | undefined> | undefined;
  const findTarget: FindTarget = () => {
    lookup ??= targets.find(PURPOSES[purpose].kind, row.attachable_id);
    return lookup;
  };
  const { may, permission } = RULES[purpose];
  if (!(await may(caller, row, findTarget))) throw missingPermission(caller, { permissions: [permission] });
  // A document is not served after the deletion of its target, even before the deletion's event is consumed.
  const target = await findTarget();
  if (target === undefined) throw notFound();
  return { reader: caller, target };
};
