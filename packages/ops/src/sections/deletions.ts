/** Accounts whose deletion is scheduled. */
import { html } from '@fitness/shared/pages/html.ts';
import { time } from '@fitness/shared/pages/views.ts';
import { memberLink } from '../members.ts';
import { factsOf, listOf, type Operator, pageIn, read, type Section, turnByLink } from '../section.ts';

const SLUG = 'deletions';

interface PendingUser {
  id: number;
  deletion_requested_at: string;
  deletion_scheduled_at: string;
}

const find = (operator: Operator): Promise<Record<string, unknown>> =>
  read(operator, `/users?deletion_pending=true&page=${pageIn(operator.query)}`);

export const deletions: Section = {
  slug: SLUG,
  title: 'ops.deletions',
  permissions: [['users.view_all']],
  show: async (operator) => {
    const { t } = operator;
    const body = await find(operator);
    const items = (body.data as PendingUser[]).map(
      (user) => html`<li>${memberLink(operator, user)}
${factsOf(t, [
  ['ops.deletion_at', time(operator, user.deletion_scheduled_at)],
  ['account_deletion.requested_at', time(operator, user.deletion_requested_at)],
])}</li>\n`,
    );
    const turn = turnByLink(operator, SLUG);
    return html`<section class="card">${listOf(operator, { body, items, none: 'ops.deletions.none', turn })}</section>`;
  },
  watch: async (operator) => ((await find(operator)).data as PendingUser[]).map(({ id }) => id).join(),
};
