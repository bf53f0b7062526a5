/** Who may fetch a file (specification 4.3 rules 1 to 3, contract 6). */
import { type Caller, can } from '@fitness/shared/caller.ts';
import { forbidden, notFound, unauthenticated } from '@fitness/shared/error.ts';
import type { Targets } from '../clients/targets.ts';
import { attachableKind, isPurpose, type Purpose } from '../domain/attachable.ts';
import type { MediaRow } from '../domain/media.ts';
import { maySee, owns } from './may-edit.ts';

/** Each purpose has its rule; one without a rule is denied to everybody. */
const RULES: Readonly<
  Record<Purpose, (caller: Caller, row: MediaRow, targets: Targets) => Promise<boolean>>
> = {
  trainer_license: async (caller, row) =>
    (caller.kind === 'user' && caller.userId === row.attachable_id) || can(caller, 'users.view_all'),
  gym_license: async (caller, row, targets) => {
    // A guest is refused without a question, so that nobody learns from the time what exists.
    if (caller.kind === 'guest') return false;
    if (can(caller, 'gyms.view_all')) return true;
    const gym = await targets.find('gym', row.attachable_id);
    return gym !== undefined && owns(caller, gym);
  },
};

/** Returns when `caller` may fetch `row`; throws 401, 403 or 404, and `unavailable` when the owner does not answer. */
export const assertMayDownload = async (caller: Caller, row: MediaRow, targets: Targets): Promise<void> => {
  if (row.purpose !== null) {
    const allowed = isPurpose(row.purpose) && (await RULES[row.purpose](caller, row, targets));
    if (!allowed) throw forbidden(`purpose ${row.purpose}`);
    return;
  }
  const kind = attachableKind(row.attachable_type);
  const target = kind === undefined ? undefined : await targets.find(kind, row.attachable_id);
  if (target === undefined) throw notFound();
  if (maySee(caller, target)) return;
  throw caller.kind === 'guest' ? unauthenticated() : forbidden();
};
