/** Accounts whose deletion is scheduled. */
import { html } from '@fitness/shared/pages/html.ts';
import { time } from '../../pages/views.ts';
import {
  emptyList,
  factsOf,
  type Operator,
  pageIn,
  pagerOf,
  pathOf,
  read,
  type Section,
  userName,
} from '../section.ts';

const SLUG = 'deletions';

interface PendingUser {
  id: number;
  deletion_requested_at: string;
  deletion_scheduled_at: string;
}

const find = (operator: Operator): Promise<Record<string, unknown>> =>
  read(operator, `/users?deletion_pending=true&page=${pageIn(operator)}`);

export const deletions: Section = {
  slug: SLUG,
  title: 'ops.deletions',
  permissions: ['users.view_all'],
  show: async (operator) => {
    const { t } = operator;
    const body = await find(operator);
    const rows = body.data as PendingUser[];
    if (rows.length === 0) return emptyList(t, 'ops.deletions.none');
    const items = rows.map(
      (user) => html`<li><a href="${pathOf(operator, 'users', `&id=${user.id}`)}">${userName(user)}</a>
${factsOf(t, [
  ['ops.deletion_at', time(user.deletion_scheduled_at)],
  ['account_deletion.requested_at', time(user.deletion_requested_at)],
])}</li>\n`,
    );
    return html`<section class="card"><ul class="items" role="list">${items}</ul>${pagerOf(operator, SLUG, body)}</section>`;
  },
  watch: async (operator) => ((await find(operator)).data as PendingUser[]).map(({ id }) => id).join(),
};
