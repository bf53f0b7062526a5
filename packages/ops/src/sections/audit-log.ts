/** The audit log of all services. */
import { AUDIT_ACTIONS, AUDIT_SUBJECTS } from '@fitness/shared/audit/actions.ts';
import { formatTimestamp, parseTimestamp } from '@fitness/shared/kernel/clock.ts';
import { type Message, message } from '@fitness/shared/kernel/error.ts';
import { formatTypedDay, parseTypedDay } from '@fitness/shared/kernel/i18n/typed-day.ts';
import type { Fields } from '@fitness/shared/pages/form-pages.ts';
import { type Field, inputsOf } from '@fitness/shared/pages/views.ts';
import { auditCall, auditTable, readAuditNames } from '../audit-entries.ts';
import { type AuditNames, actionName, subjectName } from '../audit-fields.ts';
import type { BodyOf } from '../call.ts';
import { type Content, card, form, link, notice, view } from '../content.ts';
import { cursorIn } from '../list.ts';
import { findIdOf } from '../members.ts';
import { idIn, OPS_PATH, type Operator, typedIdIn } from '../operator.ts';
import type { Action, Section } from '../section.ts';

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

const find = (operator: Operator): Promise<BodyOf<'GET /audit-log'>> => {
  const query = { ...auditFiltersIn(operator.query), cursor: cursorIn(operator.query), per_page: 30 };
  return auditCall.read(operator, { query });
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

type Option = readonly [value: string, text: string];

const selectOf = (name: string, label: Message, options: readonly Option[], shown: Fields): Content =>
  view`<label>${label}
<select name="${name}"><option value="">${message('ops.all')}</option>${options.map(
    ([value, text]) =>
      view`<option value="${value}"${value === shown[name] && view` selected`}>${text}</option>`,
  )}</select></label>`;

const TEXTS: readonly Field[] = [
  { name: 'subject', label: message('ops.audit.subject_filter'), autocomplete: 'off' },
  { name: 'actor', label: message('ops.audit.actor_filter'), autocomplete: 'off' },
  { name: 'from', label: message('ops.audit.from'), autocomplete: 'off' },
  { name: 'to', label: message('ops.audit.to'), autocomplete: 'off' },
];

/** A form that posts, because a username must not be in an address. It leads to an address with ids. */
const filterForm = (operator: Operator, names: AuditNames): Content => {
  const { locale, query, problem } = operator;
  const shown = shownFilters(operator, names);
  const actions = AUDIT_ACTIONS.map((name) => [name, actionName(operator, name)] as const);
  const subjects = AUDIT_SUBJECTS.map((name) => [name, subjectName(operator, name)] as const);
  const filters = auditFiltersIn(query);
  const download = new URLSearchParams({ lang: locale, ...filters }).toString();
  const isFiltered = problem !== undefined || Object.keys(filters).length > 0;
  const content = view`<div class="grid">
${selectOf('audit_action', message('ops.audit.action'), actions, shown)}
${selectOf('subject_type', message('ops.audit.subject_type'), subjects, shown)}
${inputsOf(
  operator,
  TEXTS.map((field) => ({ ...field, value: shown[field.name] })),
)}</div>`;
  return card(
    undefined,
    view`${form({ content, buttons: [['filter', message('ops.filter')]] })}
<p class="row">${isFiltered && link(message('ops.filter.clear'), SLUG)}
${problem === undefined && view`<a href="${AUDIT_CSV_PATH}?${download}" download>${message('ops.audit.csv')}</a>`}</p>`,
  );
};

/** A filter for the address, or why the input is invalid. */
type Filter = string | undefined | Message;

const isText = (text: string | undefined): text is string => text !== undefined && text.trim() !== '';

const personFilter = async (operator: Operator, text: string | undefined): Promise<Filter> => {
  if (!isText(text)) return undefined;
  const id = await findIdOf(operator, text);
  if (id === 'none') return message('ops.audit.no_member');
  return id === 'unfinished' ? message('ops.audit.many_members') : String(id);
};

/** Accepts the username of a member, or the id of any subject. */
const subjectFilter = async (
  operator: Operator,
  { subject, subject_type: type }: Fields,
): Promise<Filter> => {
  if (!isText(type) || type === 'user') return personFilter(operator, subject);
  return isText(subject) ? (typedIdIn(subject) ?? message('ops.audit.no_id')) : undefined;
};

const dayFilter = ({ locale }: Operator, text: string | undefined, edge: 'start' | 'end'): Filter => {
  if (!isText(text)) return undefined;
  const day = parseTypedDay(locale, text);
  return day === undefined ? message('ops.audit.no_day') : formatTimestamp(day[edge]);
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
    typeof one === 'object' ? [[name, [operator.t(one)]]] : [],
  );
  if (errors.length > 0)
    return { refused: { status: 422, headers: {}, body: { errors: Object.fromEntries(errors) } } };
  const valueIn = (one: Filter): string | undefined => (typeof one === 'string' ? one : undefined);
  const query = auditFiltersIn({
    action: fields.audit_action,
    actor_id: valueIn(filters.actor),
    subject_type: isNamed(fields.subject) ? 'user' : fields.subject_type,
    subject_id: valueIn(filters.subject),
    from: valueIn(filters.from),
    to: valueIn(filters.to),
  });
  return { query };
};

const show = async (operator: Operator): Promise<Content> => {
  const { query, problem } = operator;
  // An invalid filter shows no entries, because the unfiltered list is not what the operator requested.
  const { data, meta } = problem === undefined ? await find(operator) : { data: [] };
  const filters = auditFiltersIn(query);
  const people = [filters.actor_id, filters.subject_type === 'user' ? filters.subject_id : undefined];
  const names = await readAuditNames(operator, data, people.map(Number).filter(Number.isSafeInteger));
  const cursor = meta?.next_cursor;
  const entries = auditTable(operator, data, names);
  const next = cursor != null && view`<p>${link(message('ops.next'), SLUG, { ...filters, cursor })}</p>`;
  return [
    filterForm(operator, names),
    problem === undefined && entries === undefined && notice(message('ops.none')),
    entries !== undefined && card(undefined, view`${entries}\n${next}`),
  ];
};

export const auditLog: Section = {
  slug: SLUG,
  title: 'ops.audit',
  needs: [[auditCall]],
  showsProblems: true,
  show,
  watch: async (operator) => String((await find(operator)).data[0]?.id),
  actions: { filter },
};
