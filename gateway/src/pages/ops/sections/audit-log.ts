/** What operators did, over all services. */

import { AUDIT_ACTIONS } from '@fitness/shared/audit/actions.ts';
import { message } from '@fitness/shared/kernel/error.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { OPS_PATH } from '../../../request/page-paths.ts';
import { inputOf, time } from '../../views.ts';
import { emptyList, factsOf, idIn, type Operator, pathOf, read, type Section } from '../section.ts';

const SLUG = 'audit-log';

interface Entry {
  id: number;
  service: string;
  action: string;
  actor_id: number | null;
  subject_type: string;
  subject_id: number | null;
  before: object | null;
  after: object | null;
  created_at: string;
}

const CURSOR = /^[A-Za-z0-9._~=-]{1,300}$/;

/** Ids and names of actions only: they are in the address. */
const filtersIn = ({ query }: Operator): Record<string, string> => {
  const action = AUDIT_ACTIONS.find((name) => name === query.action);
  const actorId = idIn(query.actor_id);
  return {
    ...(action === undefined ? {} : { action }),
    ...(actorId === undefined ? {} : { actor_id: actorId }),
  };
};

const find = (operator: Operator): Promise<Record<string, unknown>> => {
  const { cursor } = operator.query;
  const from: Record<string, string> = cursor !== undefined && CURSOR.test(cursor) ? { cursor } : {};
  return read(
    operator,
    `/audit-log?${new URLSearchParams({ ...filtersIn(operator), ...from, per_page: '30' })}`,
  );
};

const state = (value: object | null): Html | null =>
  value === null ? null : html`<span class="code" dir="ltr">${JSON.stringify(value)}</span>`;

const item = ({ t }: Operator, entry: Entry): Html => html`<li><h2 dir="ltr">${entry.action}</h2>
${factsOf(t, [
  ['ops.audit.at', time(entry.created_at)],
  ['ops.audit.actor', entry.actor_id === null ? t(message('ops.audit.command')) : `#${entry.actor_id}`],
  ['ops.audit.subject', `${entry.subject_type}${entry.subject_id === null ? '' : ` #${entry.subject_id}`}`],
  ['ops.service', entry.service],
  ['ops.audit.before', state(entry.before)],
  ['ops.audit.after', state(entry.after)],
])}</li>\n`;

const filterForm = (operator: Operator): Html => {
  const { t, locale, query } = operator;
  const options = AUDIT_ACTIONS.map(
    (name) => html`<option value="${name}"${name === query.action && html` selected`}>${name}</option>`,
  );
  return html`<form method="get" action="${OPS_PATH}/${SLUG}" class="card">
<input type="hidden" name="lang" value="${locale}">
<div class="row">
<label>${t(message('ops.audit.action'))}
<select name="action" dir="ltr"><option value="">${t(message('ops.all'))}</option>${options}</select></label>
${inputOf(operator, { name: 'actor_id', label: message('ops.audit.actor'), autocomplete: 'off', value: idIn(query.actor_id), inputmode: 'numeric' })}
<button>${t(message('ops.filter'))}</button>
</div></form>`;
};

export const auditLog: Section = {
  slug: SLUG,
  title: 'ops.audit',
  permissions: [['audit.view']],
  show: async (operator) => {
    const { t } = operator;
    const body = await find(operator);
    const entries = body.data as Entry[];
    const { next_cursor: next } = (body.meta ?? {}) as { next_cursor?: string | null };
    const query = new URLSearchParams({ ...filtersIn(operator), cursor: next ?? '' });
    return html`${filterForm(operator)}
${
  entries.length === 0
    ? emptyList(t, 'ops.none')
    : html`<section class="card"><ul class="items" role="list">${entries.map((entry) => item(operator, entry))}</ul>
${next != null && html`<p><a href="${pathOf(operator, SLUG, `&${query}`)}">${t(message('ops.next'))}</a></p>`}</section>`
}`;
  },
  watch: async (operator) => String(((await find(operator)).data as Entry[])[0]?.id),
};
