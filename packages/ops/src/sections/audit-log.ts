/** The audit log of all services. */

import { AUDIT_ACTIONS, AUDIT_SUBJECTS } from '@fitness/shared/audit/actions.ts';
import { formatTimestamp, parseTimestamp } from '@fitness/shared/kernel/clock.ts';
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import { formatTypedDay, parseTypedDay } from '@fitness/shared/kernel/i18n/typed-day.ts';
import type { Fields } from '@fitness/shared/pages/form-pages.ts';
import { type Html, html } from '@fitness/shared/pages/html.ts';
import { type Field, formOf, inputsOf } from '@fitness/shared/pages/views.ts';
import { auditTable, type Entry, readAuditNames } from '../audit-entries.ts';
import { type AuditNames, actionName, subjectName } from '../audit-fields.ts';
import { findIdOf } from '../members.ts';
import { OPS_PATH } from '../path.ts';
import {
  type Action,
  cursorIn,
  emptyList,
  idIn,
  type Operator,
  pathOf,
  read,
  type Section,
  typedIdIn,
} from '../section.ts';

const SLUG = 'audit-log';
export const AUDIT_CSV_PATH = `${OPS_PATH}/${SLUG}.csv`;

/** A day or an instant in the format of the API, in UTC. Undefined if it is invalid. */
const instantIn = (text = ''): string | undefined => {
  const [, day, time = '00:00:00'] = /^(\d{4}-\d\d-\d\d)(?: (\d\d:\d\d:\d\d))?$/.exec(text) ?? [];
  if (day === undefined) return undefined;
  const date = parseTimestamp(`${day} ${time}`);
  return !Number.isNaN(date.getTime()) && formatTimestamp(date) === `${day} ${time}` ? text : undefined;
};

/** The valid filters of an address. Only ids, times and names of actions are allowed in it, and invalid values are ignored. */
export const auditFiltersIn = (query: Fields): Record<string, string> => {
  const filters = {
    action: AUDIT_ACTIONS.find((name) => name === query.action),
    actor_id: idIn(query.actor_id),
    subject_type: AUDIT_SUBJECTS.find((name) => name === query.subject_type),
    subject_id: idIn(query.subject_id),
    from: instantIn(query.from),
    to: instantIn(query.to),
  };
  return Object.fromEntries(
    Object.entries(filters).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
};

const find = (operator: Operator): Promise<Record<string, unknown>> => {
  const cursor = cursorIn(operator.query);
  const from: Record<string, string> = cursor === undefined ? {} : { cursor };
  const query = new URLSearchParams({ ...auditFiltersIn(operator.query), ...from, per_page: '30' });
  return read(operator, `/audit-log?${query}`);
};

/** The values of the form: the submitted ones, or the localized filters of the address. */
const shownFilters = ({ query, sent, locale }: Operator, { users }: AuditNames): Fields => {
  if (sent !== undefined) return sent;
  const filters = auditFiltersIn(query);
  const person = (id: string | undefined): string | undefined => users.get(Number(id))?.username ?? id;
  const day = (text: string | undefined): string | undefined =>
    text && formatTypedDay(locale, parseTimestamp(text.includes(' ') ? text : `${text} 00:00:00`));
  const isMember = filters.subject_type === 'user';
  return {
    audit_action: filters.action,
    actor: person(filters.actor_id),
    subject_type: filters.subject_type,
    subject: isMember ? person(filters.subject_id) : filters.subject_id,
    from: day(filters.from),
    to: day(filters.to),
  };
};

interface Choice {
  name: string;
  label: Message;
  options: readonly (readonly [value: string, text: string])[];
}

const selectOf = ({ t }: Operator, { name, label, options }: Choice, shown: Fields): Html => {
  const choices = options.map(
    ([value, text]) =>
      html`<option value="${value}"${value === shown[name] && html` selected`}>${text}</option>`,
  );
  return html`<label>${t(label)}
<select name="${name}"><option value="">${t(message('ops.all'))}</option>${choices}</select></label>`;
};

const TEXTS: readonly Field[] = [
  { name: 'subject', label: message('ops.audit.subject_filter'), autocomplete: 'off' },
  { name: 'actor', label: message('ops.audit.actor_filter'), autocomplete: 'off' },
  { name: 'from', label: message('ops.audit.from'), autocomplete: 'off' },
  { name: 'to', label: message('ops.audit.to'), autocomplete: 'off' },
];

/** A form that posts, because a username must not be in an address. It leads to an address with ids. */
const filterForm = (operator: Operator, names: AuditNames): Html => {
  const { t, locale, query, problem } = operator;
  const shown = shownFilters(operator, names);
  const actions = AUDIT_ACTIONS.map((name) => [name, actionName(operator, name)] as const);
  const subjects = AUDIT_SUBJECTS.map((name) => [name, subjectName(operator, name)] as const);
  const texts = TEXTS.map((field) => ({ ...field, value: shown[field.name] }));
  const filters = auditFiltersIn(query);
  const download = new URLSearchParams({ lang: locale, ...filters }).toString();
  const isFiltered = problem !== undefined || Object.keys(filters).length > 0;
  const content = html`<div class="grid">
${selectOf(operator, { name: 'audit_action', label: message('ops.audit.action'), options: actions }, shown)}
${selectOf(operator, { name: 'subject_type', label: message('ops.audit.subject_type'), options: subjects }, shown)}
${inputsOf(operator, texts)}</div>`;
  return html`<section class="card">${formOf(operator, pathOf(operator, SLUG), content, [['filter', message('ops.filter')]])}
<p class="row">${isFiltered && html`<a href="${pathOf(operator, SLUG)}">${t(message('ops.filter.clear'))}</a>`}
${problem === undefined && html`<a href="${AUDIT_CSV_PATH}?${download}" download>${t(message('ops.audit.csv'))}</a>`}</p></section>`;
};

/** A filter value for the address, or why the input is invalid. */
type Filter = { value: string | undefined } | { refused: Message };

const isText = (text: string | undefined): text is string => text !== undefined && text.trim() !== '';

const personFilter = async (operator: Operator, text: string | undefined): Promise<Filter> => {
  if (!isText(text)) return { value: undefined };
  const id = await findIdOf(operator, text);
  if (id === 'none') return { refused: message('ops.audit.no_member') };
  return id === 'unfinished' ? { refused: message('ops.audit.many_members') } : { value: String(id) };
};

/** Accepts the username of a member, or the id of any subject. */
const subjectFilter = async (
  operator: Operator,
  { subject, subject_type: type }: Fields,
): Promise<Filter> => {
  if (!isText(type) || type === 'user') return personFilter(operator, subject);
  if (!isText(subject)) return { value: undefined };
  const id = typedIdIn(subject);
  return id === undefined ? { refused: message('ops.audit.no_id') } : { value: id };
};

const dayFilter = ({ locale }: Operator, text: string | undefined, edge: 'start' | 'end'): Filter => {
  if (!isText(text)) return { value: undefined };
  const day = parseTypedDay(locale, text);
  return day === undefined ? { refused: message('ops.audit.no_day') } : { value: formatTimestamp(day[edge]) };
};

const isNamed = (subject: string | undefined): boolean => isText(subject) && typedIdIn(subject) === undefined;

/** Redirects to the address with the filters, or shows each invalid filter at its field. */
const filter: Action = async (operator, fields) => {
  const filters = {
    actor: await personFilter(operator, fields.actor),
    subject: await subjectFilter(operator, fields),
    from: dayFilter(operator, fields.from, 'start'),
    to: dayFilter(operator, fields.to, 'end'),
  };
  const errors = Object.entries(filters).flatMap(([name, one]) =>
    'refused' in one ? [[name, [operator.t(one.refused)]]] : [],
  );
  if (errors.length > 0)
    return { refused: { status: 422, headers: {}, body: { errors: Object.fromEntries(errors) } } };
  const valueIn = (one: Filter): string | undefined => ('value' in one ? one.value : undefined);
  const query = new URLSearchParams(
    auditFiltersIn({
      action: fields.audit_action,
      actor_id: valueIn(filters.actor),
      subject_type: isNamed(fields.subject) ? 'user' : fields.subject_type,
      subject_id: valueIn(filters.subject),
      from: valueIn(filters.from),
      to: valueIn(filters.to),
    }),
  );
  return { query: query.size === 0 ? '' : `&${query}` };
};

export const auditLog: Section = {
  slug: SLUG,
  title: 'ops.audit',
  permissions: [['audit.view']],
  showsProblems: true,
  show: async (operator) => {
    const { t, query, problem } = operator;
    // An invalid filter shows no entries, because the unfiltered list is not what the operator requested.
    const body = problem === undefined ? await find(operator) : { data: [] };
    const entries = body.data as Entry[];
    const { actor_id: actor, subject_id: subject } = auditFiltersIn(query);
    const people = [actor, query.subject_type === 'user' ? subject : undefined].map(Number);
    const names = await readAuditNames(operator, entries, people.filter(Number.isSafeInteger));
    const { next_cursor: next } = ('meta' in body ? body.meta : {}) as { next_cursor?: string | null };
    const address = new URLSearchParams({ ...auditFiltersIn(query), cursor: next ?? '' });
    const table = auditTable(operator, entries, names);
    return html`${filterForm(operator, names)}
${problem === undefined && table === undefined && emptyList(t, 'ops.none')}
${
  table !== undefined &&
  html`<section class="card">${table}
${next != null && html`<p><a href="${pathOf(operator, SLUG, `&${address}`)}">${t(message('ops.next'))}</a></p>`}</section>`
}`;
  },
  watch: async (operator) => String(((await find(operator)).data as Entry[])[0]?.id),
  actions: { filter },
};
