/** What operators did, over all services. */

import { AUDIT_ACTIONS, AUDIT_SUBJECTS } from '@fitness/shared/audit/actions.ts';
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { OPS_PATH } from '../../../request/page-paths.ts';
import type { Fields } from '../../form-pages.ts';
import { inputOf } from '../../views.ts';
import { accountsIn, auditTable, type Entry, subjectName } from '../audit-entries.ts';
import { readNames } from '../members.ts';
import { emptyList, idIn, type Operator, pathOf, read, type Section } from '../section.ts';

const SLUG = 'audit-log';
export const AUDIT_CSV_PATH = `${OPS_PATH}/${SLUG}.csv`;

const CURSOR = /^[A-Za-z0-9._~=-]{1,300}$/;

/** A day as the API takes it; undefined for what is none. */
const dayIn = (text = ''): string | undefined => {
  const date = new Date(`${text}T00:00:00Z`);
  const isDay = /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(date.getTime());
  return isDay && date.toISOString().startsWith(text) ? text : undefined;
};

/** Ids, days and names of actions only: they are in the address. What is none of them filters nothing. */
export const auditFiltersIn = (query: Fields): Record<string, string> => {
  const filters = {
    action: AUDIT_ACTIONS.find((name) => name === query.action),
    actor_id: idIn(query.actor_id),
    subject_type: AUDIT_SUBJECTS.find((name) => name === query.subject_type),
    subject_id: idIn(query.subject_id),
    from: dayIn(query.from),
    to: dayIn(query.to),
  };
  return Object.fromEntries(
    Object.entries(filters).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
};

const find = (operator: Operator): Promise<Record<string, unknown>> => {
  const { cursor } = operator.query;
  const from: Record<string, string> = cursor !== undefined && CURSOR.test(cursor) ? { cursor } : {};
  const query = new URLSearchParams({ ...auditFiltersIn(operator.query), ...from, per_page: '30' });
  return read(operator, `/audit-log?${query}`);
};

interface Choice {
  name: string;
  label: Message;
  options: readonly (readonly [value: string, text: string])[];
  /** The texts are codes. */
  isCode?: true;
}

const selectOf = ({ t, query }: Operator, { name, label, options, isCode }: Choice): Html => {
  const shown = options.map(
    ([value, text]) =>
      html`<option value="${value}"${value === query[name] && html` selected`}>${text}</option>`,
  );
  return html`<label>${t(label)}
<select name="${name}"${isCode && html` dir="ltr"`}><option value="">${t(message('ops.all'))}</option>${shown}</select></label>`;
};

const idField = (operator: Operator, name: string, label: Message): Html =>
  inputOf(operator, {
    name,
    label,
    autocomplete: 'off',
    value: idIn(operator.query[name]),
    inputmode: 'numeric',
  });

const dayField = ({ t, query }: Operator, name: string, label: Message): Html =>
  html`<label>${t(label)}
<input name="${name}" type="date" value="${dayIn(query[name])}"></label>`;

const filterForm = (operator: Operator): Html => {
  const { t, locale, query } = operator;
  const actions = AUDIT_ACTIONS.map((name) => [name, name] as const);
  const subjects = AUDIT_SUBJECTS.map((name) => [name, subjectName(operator, name)] as const);
  const download = new URLSearchParams({ lang: locale, ...auditFiltersIn(query) }).toString();
  return html`<form method="get" action="${OPS_PATH}/${SLUG}" class="card">
<input type="hidden" name="lang" value="${locale}">
<div class="row">
${selectOf(operator, { name: 'action', label: message('ops.audit.action'), options: actions, isCode: true })}
${idField(operator, 'actor_id', message('ops.audit.actor_id'))}
${selectOf(operator, { name: 'subject_type', label: message('ops.audit.subject'), options: subjects })}
${idField(operator, 'subject_id', message('ops.audit.subject_id'))}
${dayField(operator, 'from', message('ops.audit.from'))}
${dayField(operator, 'to', message('ops.audit.to'))}
<button>${t(message('ops.filter'))}</button>
<a href="${AUDIT_CSV_PATH}?${download}" download>${t(message('ops.audit.csv'))}</a>
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
    const names = await readNames(operator, accountsIn(entries));
    const { next_cursor: next } = (body.meta ?? {}) as { next_cursor?: string | null };
    const query = new URLSearchParams({ ...auditFiltersIn(operator.query), cursor: next ?? '' });
    const table = auditTable(operator, entries, names);
    return html`${filterForm(operator)}
${
  table === undefined
    ? emptyList(t, 'ops.none')
    : html`<section class="card">${table}
${next != null && html`<p><a href="${pathOf(operator, SLUG, `&${query}`)}">${t(message('ops.next'))}</a></p>`}</section>`
}`;
  },
  watch: async (operator) => String(((await find(operator)).data as Entry[])[0]?.id),
};
