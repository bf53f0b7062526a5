/** Accounts whose deletion is scheduled. */
import { cell, facts, view } from '../content.ts';
import { list } from '../list.ts';
import { user, users } from '../members.ts';
import type { Section } from '../section.ts';

const pending = list({
  call: users,
  input: { query: { deletion_pending: true } },
  none: 'ops.deletions.none',
  items: (rows) =>
    rows.map(
      (row) => view`${cell.member(row)}
${facts([
  ['ops.deletion_at', cell.time(row.deletion_scheduled_at)],
  ['account_deletion.requested_at', cell.time(row.deletion_requested_at)],
])}`,
    ),
});

export const deletions: Section = {
  slug: 'deletions',
  title: 'ops.deletions',
  needs: [[user]],
  lists: [pending],
};
