/** The sections of `/ops`, in the order of the navigation. */
import type { Section } from './section.ts';
import { auditLog } from './sections/audit-log.ts';
import { deadLetters } from './sections/dead-letters.ts';
import { deletions } from './sections/deletions.ts';
import { disputes } from './sections/disputes.ts';
import { licenses } from './sections/licenses.ts';
import { member } from './sections/member.ts';
import { overview } from './sections/overview.ts';
import { roles } from './sections/roles.ts';
import { users } from './sections/users.ts';
import { withdrawals } from './sections/withdrawals.ts';

export const SECTIONS: readonly Section[] = [
  overview,
  deadLetters,
  withdrawals,
  licenses,
  disputes,
  deletions,
  users,
  roles,
  auditLog,
  member,
];
