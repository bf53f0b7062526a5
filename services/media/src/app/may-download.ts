/** Who may fetch a file (specification 4.3 rules 1 to 3, contract 6). */
import { type Caller, can, type UserCaller } from '@fitness/shared/caller.ts';
import { forbidden, notFound, unauthenticated } from '@fitness/shared/error.ts';
import type { TargetState, Targets } from '../clients/targets.ts';
import { attachableKind, isPurpose, PURPOSES, type Purpose } from '../domain/attachable.ts';
import type { MediaRow } from '../domain/media.ts';
import { maySee, owns } from './may-edit.ts';

type Find = () => Promise<TargetState | undefined>;

/** Each purpose has its rule; one without a rule is denied to everybody. */
const RULES: Readonly<Record<Purpose, (caller: UserCaller, row: MediaRow, find: Find) => Promise<boolean>>> =
  {
    trainer_license: async (caller, row) =>
      caller.userId === row.attachable_id || can(caller, 'users.view_all'),
    gym_license: async (caller, _row, find) => {
      if (can(caller, 'gyms.view_all')) return true;
      const gym = await find();
      return gym !== undefined && owns(caller, gym);
    },
  };

/** Returns when `caller` may fetch `row`; throws 401, 403 or 404, and `unavailable` when the owner does not answer. */
export const assertMayDownload = async (caller: Caller, row: MediaRow, targets: Targets): Promise<void> => {
  if (row.purpose !== null) return assertMayHaveDocument(caller, row, row.purpose, targets);
  const kind = attachableKind(row.attachable_type);
  const target = kind === undefined ? undefined : await targets.find(kind, row.attachable_id);
  if (target === undefined) throw notFound();
  if (maySee(caller, target)) return;
  throw caller.kind === 'guest' ? unauthenticated() : forbidden();
};

const assertMayHaveDocument = async (
  caller: Caller,
  row: MediaRow,
  purpose: string,
  targets: Targets,
): Promise<void> => {
  // A guest is refused without a question, so that nobody learns from the time what exists.
  if (caller.kind === 'guest' || !isPurpose(purpose)) throw forbidden(`purpose ${purpose}`);
  let found: Promise<TargetState | undefined> | undefined;
  const find: Find = () => {
    found ??= targets.find(PURPOSES[purpose].kind, row.attachable_id);
    return found;
  };
  if (!(await RULES[purpose](caller, row, find))) throw forbidden(`purpose ${purpose}`);
  // A document goes with its subject, at once: its row is still here only until media has heard of it.
  if ((await find()) === undefined) throw notFound();
};
